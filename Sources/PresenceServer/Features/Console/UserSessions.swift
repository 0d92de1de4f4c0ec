import PresenceCore
import PresenceProtocol
import Redis

/// A user's connected devices, as Redis lists them.
extension Console {
    func sessions(_ call: HTTPCall) {
        let keys = shard.partitions.keys(of: call.ids[0])
        call.ask(changes: false) {
            shard.store.command(["HGETALL", keys.sessions(call.ids[0])], lane: .commands, reply: $0)
        } answered: { value in
            let words = (value.array ?? []).map { $0.string ?? "" }
            let sessions = stride(from: 0, to: words.count - 1, by: 2).compactMap { index in
                HeldSession(name: words[index], value: words[index + 1]).map { ($0, words[index + 1]) }
            }
            let rows = sessions.sorted { $0.0.began < $1.0.began }.map { session, value in
                Self.row(session, device: String(value.split(separator: " ")[1]))
            }
            call.respond(.json(200, #"{"sessions":[\#(rows.joined(separator: ","))]}"#))
        }
    }

    /// - Parameter device: `=ID`, or `-` without one.
    private static func row(_ session: HeldSession, device: String) -> String {
        let id = device.hasPrefix("=") ? #","device":\#(StatusArguments.encoded(String(device.dropFirst())))"# : ""
        return
            #"{"id":\#(StatusArguments.encoded(session.name)),"kind":\#(StatusArguments.encoded(session.kind))\#(id),"#
            + #""active":\#(session.isActive),"since":\#(session.began),"#
            + #""server":\#(StatusArguments.encoded(session.incarnation))}"#
    }
}
