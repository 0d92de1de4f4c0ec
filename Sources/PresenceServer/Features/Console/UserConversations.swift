import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The conversations of a user, with everything that a member sees of each except texts.
extension Console {
    /// The most conversations in an answer: those that the user joined last.
    private static let mostConversations = 200

    func conversations(_ call: HTTPCall) async throws -> HTTPResponse {
        let user = try Self.id("user", in: call)
        guard let reading = shard.feature(Conversations.self)?.reading else {
            preconditionFailure("every server has conversations")
        }
        let inbox = try await shard.run("HGETALL", shard.partitions.keys(of: user).inbox(user))
        let (newest, isMore) = Self.newest(inbox.array?.compactMap(\.string) ?? [])
        do throws(RedisFailure) {
            return respond(try await reading.read(newest, of: user).records, to: user, isMore: isMore)
        } catch {
            throw Refusal(error, changes: false)
        }
    }

    /// - Parameter words: An inbox: alternating conversations, and `in VERSION` or `out VERSION …`.
    private static func newest(_ words: [String]) -> ([ConversationID], isMore: Bool) {
        let entries = stride(from: 0, to: words.count - 1, by: 2).compactMap { place -> (ConversationID, Int64)? in
            let state = words[place + 1].split(separator: " ")
            guard state.first == "in", let id = ConversationID(words[place]) else { return nil }
            return (id, state.count > 1 ? Int64(state[1]) ?? 0 : 0)
        }
        let sorted = entries.sorted { ($0.1, $0.0.string) > ($1.1, $1.0.string) }
        return (sorted.prefix(mostConversations).map(\.0), sorted.count > mostConversations)
    }

    private func respond(_ records: [ConversationRecord], to user: UserID, isMore: Bool) -> HTTPResponse {
        var json = Array(#"{"conversations":["#.utf8)
        for (place, record) in records.sorted(by: { $0.newest > $1.newest }).enumerated() {
            if place > 0 { json.append(UInt8(ascii: ",")) }
            Self.write(record, for: user, at: shard.clock.redisNow, to: &json)
        }
        json += Array("]\(isMore ? #","more":true"# : "")}".utf8)
        return .json(200, json)
    }

    private static func write(_ record: ConversationRecord, for user: UserID, at now: Timestamp, to json: inout [UInt8])
    {
        JSONWriter.raw(#"{"id":"#, to: &json)
        JSONWriter.string(record.id.string, to: &json)
        JSONWriter.member("kind", record.isDirect ? "direct" : "group", to: &json)
        if let name = record.name {
            JSONWriter.key("name", to: &json)
            json += name
        }
        JSONWriter.member("participants", record.members.map(\.user).sorted(), to: &json)
        JSONWriter.member("createdAt", record.createdAt, to: &json)
        JSONWriter.member("first", record.first, to: &json)
        JSONWriter.member("last", record.last, to: &json)
        if let message = record.message { JSONWriter.member("lastMessageAt", message.at, to: &json) }
        if let member = record.member(user) {
            JSONWriter.member("unread", record.unread(by: member), to: &json)
            if member.muted < 0 || member.muted > now { JSONWriter.raw(#","muted":true"#, to: &json) }
            if member.archived > 0 { JSONWriter.raw(#","archived":true"#, to: &json) }
        }
        json.append(UInt8(ascii: "}"))
    }
}
