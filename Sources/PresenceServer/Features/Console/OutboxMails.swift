import Foundation
import PresenceCore
import WebSockets

/// The mails in the outbox, in development without a mail server.
extension Console {
    func outbox(_ call: HTTPCall) {
        let configuration = shard.configuration
        call.work(.files) {
            (try? Outbox(configuration).entries()).flatMap { try? JSONEncoder().encode(Array($0.suffix(100))) }
        } then: { found in
            guard let found else { return call.refuse(500, .internal, "the outbox cannot be read") }
            call.respond(.json(200, Array(#"{"mails":"#.utf8) + found + [UInt8(ascii: "}")]))
        }
    }
}
