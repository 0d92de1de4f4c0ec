import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// What a push says: members of `push.due` as JSON.
struct PushContents {
    unowned let shard: ShardLogic

    /// Conversations whose unread messages are counted.
    private static let mostCounted = 200
    private static let mostCharacters = 500

    /// - Parameter found: Gets the members before and after the devices; `nil` if Redis did not say.
    func members(
        _ message: StoredMessage, in record: ConversationRecord, for user: UserID, _ keys: PartitionKeys,
        found: @escaping ((before: [UInt8], after: [UInt8])?) -> Void
    ) {
        title(record, message, for: user) { title in
            badge(of: user, keys) { badge in
                guard let title, let badge else { return found(nil) }
                var (before, after): ([UInt8], [UInt8]) = ([], [])
                JSONWriter.raw("\"conversation\":", to: &before)
                JSONWriter.string(record.id.string, to: &before)
                JSONWriter.raw("\"title\":", to: &after)
                after += title
                JSONWriter.key("text", to: &after)
                after += Self.shortened(message.text)
                JSONWriter.member("badge", badge, to: &after)
                found((before, after))
            }
        }
    }

    /// What a push that waits says, of a message as it is now. The badge is counted anew only if it says something else.
    func renew(
        _ push: PushMessage, with message: StoredMessage, in record: ConversationRecord, for user: UserID,
        found: @escaping (Result<PushMessage?, RedisFailure>) -> Void
    ) {
        title(record, message, for: user) { title in
            guard let title else { return found(.failure(.disconnected(sent: false))) }
            var renewed = push.saying(title: title, text: Self.shortened(message.text))
            guard renewed != push else { return found(.success(push)) }
            badge(of: user, shard.partitions.keys(of: user)) { badge in
                guard let badge else { return found(.failure(.disconnected(sent: false))) }
                renewed.badge = badge
                found(.success(renewed))
            }
        }
    }

    /// The conversation's name, or that of who wrote, if the user may see it; as JSON. `nil` if Redis did not say. A damaged
    /// record has none.
    private func title(
        _ record: ConversationRecord, _ message: StoredMessage, for user: UserID, found: @escaping ([UInt8]?) -> Void
    ) {
        if let name = record.name { return found(name) }
        guard let sender = UserID(message.from) else { return found(Self.noTitle) }
        let key = shard.partitions.keys(of: sender).user(sender)
        shard.store.command(["HGET", key, "profile"], lane: .commands) { [unowned shard] result in
            if let failure = result.failure {
                guard failure.isLasting else { return found(nil) }
                shard.noteDamage("profile", of: sender)
            }
            guard let name = (try? result.get())?.bytes.flatMap(ProfileBody.displayName) else {
                return found(Self.noTitle)
            }
            maySee(sender, user) { found($0 ? name : Self.noTitle) }
        }
    }

    private static let noTitle = Array("\"\"".utf8)

    /// Who may see somebody cannot be known while that is damaged: then nobody may.
    private func maySee(_ user: UserID, _ viewer: UserID, then: @escaping (Bool) -> Void) {
        let people = [user, viewer].map { shard.watchers.hold(person: $0) }
        shard.loader.load(people) { [unowned shard] outcome in
            defer { people.forEach(shard.watchers.release) }
            then(outcome == .loaded && shard.policies.view(of: user, for: viewer) != .nothing)
        }
    }

    /// The messages that a user has not read, of all conversations that can be read. `nil` if Redis did not say.
    private func badge(of user: UserID, _ keys: PartitionKeys, found: @escaping (Int64?) -> Void) {
        shard.store.command(["HGETALL", keys.inbox(user)], lane: .commands) { [unowned shard] result in
            if let failure = result.failure {
                guard failure.isLasting else { return found(nil) }
                shard.noteDamage("inbox", of: user)
            }
            let fields = (try? result.get())?.array ?? []
            let ids = stride(from: 0, to: fields.count - 1, by: 2).compactMap { place in
                fields[place + 1].string?.hasPrefix("in ") == true
                    ? fields[place].string.flatMap { ConversationID($0) } : nil
            }
            var (sum, failed): (Int64, Bool) = (0, false)
            BoundedConcurrency(Array(ids.prefix(Self.mostCounted)), window: DuePushes.window) {
                [unowned shard] id, next in
                let key = shard.partitions.keys(of: id).conversation(id)
                let fields = ["last", "deleted", "m:" + user.string]
                shard.store.command(["HMGET", key] + fields, lane: .commands) { result in
                    if case .success(let value) = result {
                        let words = zip(fields, value.array ?? []).flatMap { [RedisValue.bytes(Array($0.utf8)), $1] }
                        let record = ConversationRecord(id, fields: words[...])
                        if let record, let member = record.member(user) { sum += record.unread(by: member) }
                    } else if result.failure?.isLasting == true {
                        shard.noteDamage("conversation", of: id)
                    } else {
                        failed = true
                    }
                    next()
                }
            } done: {
                found(failed ? nil : sum)
            }
        }
    }

    /// A text as JSON, at most so many characters of it.
    private static func shortened(_ json: ArraySlice<UInt8>) -> [UInt8] {
        guard json.count > mostCharacters, let text = try? JSONDecoder().decode(String.self, from: Data(json)),
            text.count > mostCharacters
        else { return Array(json) }
        var short: [UInt8] = []
        JSONWriter.string(String(text.prefix(mostCharacters - 1)) + "…", to: &short)
        return short
    }
}
