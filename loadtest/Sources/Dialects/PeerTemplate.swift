import Foundation

/// The protocol of a peer's server, from a file: message templates, and bytes that identify the server's answers.
/// Nothing is decoded.
///
/// In messages `{user}`, `{token}`, `{channel}`, `{payload}` and `{id}` (a separate number for every message of a
/// connection) are placeholders. A channel is the id of a watched user.
struct PeerTemplate: Codable {
    var name: String
    /// The WebSocket subprotocol to request; none if absent.
    var subprotocol: String?
    /// Messages to send once the WebSocket is open.
    var connect: [String]?
    /// Bytes in the answer to the last of them. If absent, the tool does not wait for an answer.
    var connected: String?
    /// Subscribes a connection to changes: sent for every watched channel if it contains `{channel}`, otherwise once.
    var subscribe: String?
    /// Bytes in the answer to each of these.
    var subscribed: String?
    /// The message that makes a change.
    var publish: String
    /// Bytes in the answer to it.
    var acknowledged: String?
    /// The form of a delivered change: the server's bytes around `{payload}`.
    var delivered: String
    /// Bytes in an answer that rejects a request.
    var refused: String?
    /// The server's own pings: a whole message, and the expected answer.
    var ping: Ping?
    /// Whether slow clients finally receive the newest change of every channel; false if absent.
    var keepsNewest: Bool?

    struct Ping: Codable {
        var message: String
        var answer: String
    }

    /// Reads and checks a file. Fails with a sentence for its author.
    init(file: String) throws(Failure) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
        } catch let error as DecodingError {
            throw Failure("\(file) does not describe a peer: \(error)")
        } catch {
            throw Failure("cannot read \(file): \(error.localizedDescription)")
        }
        guard publish.contains("{payload}"), delivered.contains("{payload}") else {
            throw Failure("\(file): `publish` and `delivered` have a place for {payload}")
        }
    }
}
