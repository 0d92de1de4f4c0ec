import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// A user's connected devices, as Redis lists them, the chosen status, and the sessions that ended.
extension Console {
    func sessions(of user: UserID) async throws(Refusal) -> HTTPResponse {
        let keys = shard.partitions.keys(of: user)
        let words = try await shard.run("HGETALL", keys.sessions(user)).array?.map { $0.string ?? "" } ?? []
        let chosen = try await shard.run("HMGET", keys.user(user), "chosen", "clearAt").array ?? []
        return .json(200, Self.encode(words, chosen, state.ends.read(user)))
    }

    /// - Parameter words: Names and values of sessions in turn.
    private static func encode(
        _ words: [String], _ chosen: [RedisValue], _ past: (ends: [String], since: Timestamp?)
    ) -> String {
        let sessions = stride(from: 0, to: words.count - 1, by: 2).compactMap { index in
            HeldSession(name: words[index], value: words[index + 1]).map { ($0, words[index + 1]) }
        }
        let rows = sessions.sorted { $0.0.began < $1.0.began }.map { session, value in
            row(session, device: String(value.split(separator: " ")[1]))
        }
        let status = chosen.first?.string.flatMap { ChosenStatus(rawValue: $0) } ?? .auto
        let clearAt = chosen.last?.int.map { #","clearAt":\#($0)"# } ?? ""
        let since = past.since.map { #","endedSince":\#($0)"# } ?? ""
        return #"{"sessions":[\#(rows.joined(separator: ","))],"chosen":"\#(status.rawValue)"\#(clearAt),"#
            + #""ended":[\#(past.ends.joined(separator: ","))]\#(since)}"#
    }

    /// - Parameter device: `=ID`, or `-` without one.
    private static func row(_ session: HeldSession, device: String) -> String {
        let id = device.hasPrefix("=") ? #","device":\#(JSONWriter.encoded(String(device.dropFirst())))"# : ""
        return
            #"{"id":\#(JSONWriter.encoded(session.name)),"kind":\#(JSONWriter.encoded(session.kind))\#(id),"#
            + #""active":\#(session.isActive),"since":\#(session.began),"#
            + #""server":\#(JSONWriter.encoded(session.incarnation))}"#
    }
}
