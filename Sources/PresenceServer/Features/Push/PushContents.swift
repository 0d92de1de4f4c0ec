import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// The content of a user's pushes.
struct PushContents {
    unowned let shard: ShardLogic
    let user: UserID
    let settings: NotificationSettings

    /// Conversations whose unread messages are counted, and those that are read at a time.
    private static let (mostCounted, window) = (200, 8)
    private static let mostCharacters = 500
    private static let nothing = Array("\"\"".utf8)

    /// The stricter of the installation's and the user's wish.
    private var content: PushContent { settings.preview ? shard.configuration[Push.content] : .none }

    /// Members of `push.due` as JSON: all but the devices.
    func members(_ message: StoredMessage, in record: ConversationRecord) async throws(RedisFailure) -> [UInt8] {
        var json = Array("\"conversation\":".utf8)
        JSONWriter.string(record.id.string, to: &json)
        return try await members(json, try await title(record, message), message.text)
    }

    /// The same of a notification.
    func members(_ notification: StoredNotification, at place: PushPlace) async throws(RedisFailure) -> [UInt8] {
        let pushed = PushedNotification(
            seq: notification.seq, id: notification.id, kind: notification.kind, tag: place.notification?.tag ?? "",
            urgency: notification.urgency, expires: notification.expires)
        // Texts and numbers always have JSON.
        let json = (try? JSONEncoder().encode(pushed)).map { Array($0) } ?? []
        let title = content == .none ? Self.nothing : Array(JSONWriter.encoded(notification.title).utf8)
        let text = Array(JSONWriter.encoded(notification.body ?? "").utf8)
        return try await members(Array("\"notification\":".utf8) + json, title, text[...])
    }

    /// The same of a summary, which has no texts.
    func members(_ summary: PushSummary) async throws(RedisFailure) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = (try? encoder.encode(summary)).map { Array($0) } ?? []
        return try await members(Array("\"summary\":".utf8) + json, Self.nothing, Self.nothing[...])
    }

    private func members(
        _ first: [UInt8], _ title: [UInt8], _ text: ArraySlice<UInt8>
    ) async throws(RedisFailure) -> [UInt8] {
        var json = first
        JSONWriter.key("title", to: &json)
        json += title
        JSONWriter.key("text", to: &json)
        json += shown(text)
        JSONWriter.member("badge", try await badge(), to: &json)
        return json
    }

    /// A waiting push with a message as it is now. The badge is counted anew only if the push changes by that.
    func renew(
        _ push: PushMessage, with message: StoredMessage, in record: ConversationRecord
    ) async throws(RedisFailure) -> PushMessage {
        var renewed = push
        renewed.set(title: try await title(record, message), text: shown(message.text))
        if renewed != push { renewed.badge = try await badge() }
        return renewed
    }

    /// A waiting push without the texts that its user does not want any more.
    func withoutTexts(_ push: PushMessage) -> PushMessage {
        guard content != .full else { return push }
        var push = push
        push.set(title: content == .none ? Self.nothing : nil, text: Self.nothing)
        return push
    }

    /// The conversation's name, or the sender's, if the user may see it; as JSON. A damaged record has none.
    private func title(
        _ record: ConversationRecord, _ message: StoredMessage
    ) async throws(RedisFailure) -> [UInt8] {
        guard content != .none else { return Self.nothing }
        if let name = record.name { return name }
        guard let sender = UserID(message.from) else { return Self.nothing }
        let profile = try await shard.sparing("profile", of: sender) { [shard] () async throws(RedisFailure) in
            try await shard.command(["HGET", shard.partitions.keys(of: sender).user(sender), "profile"])
        }
        guard let name = profile?.bytes.flatMap(ProfileBody.displayName), await maySee(sender) else {
            return Self.nothing
        }
        return name
    }

    /// While the record of a user is damaged, no other may see them.
    private func maySee(_ sender: UserID) async -> Bool {
        let people = [sender, user].map { shard.watchers.hold(person: $0) }
        let outcome = await shard.tasks.wait { shard.loader.load(people, done: $0) }
        defer { people.forEach(shard.watchers.release) }
        return outcome == .loaded && shard.policies.view(of: sender, for: user) != .nothing
    }

    /// The messages that the user has not read, of all conversations that can be read.
    private func badge() async throws(RedisFailure) -> Int64 {
        let inbox = try await shard.sparing("inbox", of: user) { () async throws(RedisFailure) in
            try await shard.command(["HGETALL", shard.partitions.keys(of: user).inbox(user)])
        }
        let fields = inbox?.array ?? []
        let ids = stride(from: 0, to: fields.count - 1, by: 2).compactMap { place in
            fields[place + 1].string?.hasPrefix("in ") == true
                ? fields[place].string.flatMap { ConversationID($0) } : nil
        }
        var (sum, failure): (Int64, RedisFailure?) = (0, nil)
        await shard.tasks.each(Array(ids.prefix(Self.mostCounted)), window: Self.window) { id in
            do throws(RedisFailure) { sum += try await unread(in: id) } catch { failure = error }
        }
        if let failure { throw failure }
        return sum
    }

    private func unread(in id: ConversationID) async throws(RedisFailure) -> Int64 {
        let fields = ["last", "deleted", "request", "m:" + user.string]
        let value = try await shard.sparing("conversation", of: id) { () async throws(RedisFailure) in
            try await shard.command(["HMGET", shard.partitions.keys(of: id).conversation(id)] + fields)
        }
        let words = zip(fields, value?.array ?? []).flatMap { [RedisValue.bytes(Array($0.utf8)), $1] }
        guard let record = ConversationRecord(id, fields: words[...]), let member = record.member(user) else {
            return 0
        }
        // Requests of strangers are not pushed, and do not count.
        return member.isAsked ? 0 : record.unread(by: member)
    }

    /// A text as JSON, of so many characters at most; empty if pushes have no text.
    private func shown(_ json: ArraySlice<UInt8>) -> [UInt8] {
        guard content == .full else { return Self.nothing }
        let most = Self.mostCharacters
        guard json.count > most, let text = try? JSONDecoder().decode(String.self, from: Data(json)), text.count > most
        else { return Array(json) }
        return Array(JSONWriter.encoded(String(text.prefix(most - 1)) + "…").utf8)
    }
}

extension ShardLogic {
    /// Reads a record. A damaged one is counted and logged: there is nothing of it.
    func sparing<Value>(
        _ what: String, of id: Identifier, _ read: () async throws(RedisFailure) -> Value?
    ) async throws(RedisFailure) -> Value? {
        do throws(RedisFailure) {
            return try await read()
        } catch {
            guard error.isLasting else { throw error }
            recordDamage(what, of: id)
            return nil
        }
    }
}
