import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// The content of a push: members of `push.due` as JSON.
struct PushContents {
    unowned let shard: ShardLogic

    /// Conversations whose unread messages are counted, and those that are read at a time.
    private static let (mostCounted, window) = (200, 8)
    private static let mostCharacters = 500
    private static let noTitle = Array("\"\"".utf8)

    /// The members before and after the devices.
    func members(
        _ message: StoredMessage, in record: ConversationRecord, for user: UserID, _ keys: PartitionKeys
    ) async throws(RedisFailure) -> (before: [UInt8], after: [UInt8]) {
        let title = try await title(record, message, for: user)
        let badge = try await badge(of: user, keys)
        var (before, after): ([UInt8], [UInt8]) = ([], [])
        JSONWriter.raw("\"conversation\":", to: &before)
        JSONWriter.string(record.id.string, to: &before)
        JSONWriter.raw("\"title\":", to: &after)
        after += title
        JSONWriter.key("text", to: &after)
        after += Self.shortened(message.text)
        JSONWriter.member("badge", badge, to: &after)
        return (before, after)
    }

    /// A waiting push with a message as it is now. The badge is counted anew only if the push changes by that.
    func renew(
        _ push: PushMessage, with message: StoredMessage, in record: ConversationRecord, for user: UserID
    ) async throws(RedisFailure) -> PushMessage {
        let title = try await title(record, message, for: user)
        var renewed = push.saying(title: title, text: Self.shortened(message.text))
        if renewed != push { renewed.badge = try await badge(of: user, shard.partitions.keys(of: user)) }
        return renewed
    }

    /// The conversation's name, or the sender's, if the user may see it; as JSON. A damaged record has none.
    private func title(
        _ record: ConversationRecord, _ message: StoredMessage, for user: UserID
    ) async throws(RedisFailure) -> [UInt8] {
        if let name = record.name { return name }
        guard let sender = UserID(message.from) else { return Self.noTitle }
        let profile: RedisValue
        do throws(RedisFailure) {
            profile = try await shard.command(["HGET", shard.partitions.keys(of: sender).user(sender), "profile"])
        } catch {
            guard error.isLasting else { throw error }
            shard.recordDamage("profile", of: sender)
            return Self.noTitle
        }
        guard let name = profile.bytes.flatMap(ProfileBody.displayName), await maySee(sender, user) else {
            return Self.noTitle
        }
        return name
    }

    /// While the record of a user is damaged, no other may see them.
    private func maySee(_ user: UserID, _ viewer: UserID) async -> Bool {
        let people = [user, viewer].map { shard.watchers.hold(person: $0) }
        let outcome = await shard.tasks.wait { shard.loader.load(people, done: $0) }
        defer { people.forEach(shard.watchers.release) }
        return outcome == .loaded && shard.policies.view(of: user, for: viewer) != .nothing
    }

    /// The messages that a user has not read, of all conversations that can be read.
    private func badge(of user: UserID, _ keys: PartitionKeys) async throws(RedisFailure) -> Int64 {
        var fields: [RedisValue] = []
        do throws(RedisFailure) {
            fields = try await shard.command(["HGETALL", keys.inbox(user)]).array ?? []
        } catch {
            guard error.isLasting else { throw error }
            shard.recordDamage("inbox", of: user)
        }
        let ids = stride(from: 0, to: fields.count - 1, by: 2).compactMap { place in
            fields[place + 1].string?.hasPrefix("in ") == true
                ? fields[place].string.flatMap { ConversationID($0) } : nil
        }
        var (sum, failure): (Int64, RedisFailure?) = (0, nil)
        await shard.tasks.each(Array(ids.prefix(Self.mostCounted)), window: Self.window) { id in
            do throws(RedisFailure) { sum += try await unread(by: user, in: id) } catch { failure = error }
        }
        if let failure { throw failure }
        return sum
    }

    private func unread(by user: UserID, in id: ConversationID) async throws(RedisFailure) -> Int64 {
        let fields = ["last", "deleted", "m:" + user.string]
        do throws(RedisFailure) {
            let value = try await shard.command(["HMGET", shard.partitions.keys(of: id).conversation(id)] + fields)
            let words = zip(fields, value.array ?? []).flatMap { [RedisValue.bytes(Array($0.utf8)), $1] }
            guard let record = ConversationRecord(id, fields: words[...]), let member = record.member(user) else {
                return 0
            }
            return record.unread(by: member)
        } catch {
            guard error.isLasting else { throw error }
            shard.recordDamage("conversation", of: id)
            return 0
        }
    }

    /// A text as JSON, of so many characters at most.
    private static func shortened(_ json: ArraySlice<UInt8>) -> [UInt8] {
        guard json.count > mostCharacters, let text = try? JSONDecoder().decode(String.self, from: Data(json)),
            text.count > mostCharacters
        else { return Array(json) }
        var short: [UInt8] = []
        JSONWriter.string(String(text.prefix(mostCharacters - 1)) + "…", to: &short)
        return short
    }
}
