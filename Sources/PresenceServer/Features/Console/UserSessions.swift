import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The devices on which a user is here, as Redis lists them.
extension Console {
    func sessions(of user: UserID) async throws(Refusal) -> HTTPResponse {
        let key = shard.partitions.keys(of: user).sessions(user)
        let words = try await shard.ask("HGETALL", key).array?.map { $0.string ?? "" } ?? []
        let sessions = stride(from: 0, to: words.count - 1, by: 2).compactMap { index in
            HeldSession(name: words[index], value: words[index + 1]).map { ($0, words[index + 1]) }
        }
        let rows = sessions.sorted { $0.0.began < $1.0.began }.map { session, value in
            Self.row(session, device: String(value.split(separator: " ")[1]))
        }
        return .json(200, #"{"sessions":[\#(rows.joined(separator: ","))]}"#)
    }

    /// - Parameter device: `=ID`, or `-` for one without.
    private static func row(_ session: HeldSession, device: String) -> String {
        let id = device.hasPrefix("=") ? #","device":\#(JSONWriter.encoded(String(device.dropFirst())))"# : ""
        return
            #"{"id":\#(JSONWriter.encoded(session.name)),"kind":\#(JSONWriter.encoded(session.kind))\#(id),"#
            + #""active":\#(session.isActive),"since":\#(session.began),"#
            + #""server":\#(JSONWriter.encoded(session.incarnation))}"#
    }
}
