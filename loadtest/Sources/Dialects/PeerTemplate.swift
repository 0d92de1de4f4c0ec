import Foundation

/// How a peer's server is spoken to, as a file says it: messages with places for what differs, and bytes by which its
/// answers are recognised. Nothing is decoded.
///
/// In messages `{user}`, `{token}`, `{channel}`, `{payload}` and `{id}` (a number of its own for every message of a
/// connection) stand for what they say. A channel is the id of somebody who is watched.
struct PeerTemplate: Codable {
    var name: String
    /// The WebSocket subprotocol to ask for; none if absent.
    var subprotocol: String?
    /// Messages to send once the WebSocket is open.
    var connect: [String]?
    /// What is in the answer to the last of them. If absent, none is waited for.
    var connected: String?
    /// What makes a connection hear of changes: sent for every watched channel if it names `{channel}`, else once.
    var subscribe: String?
    /// What is in the answer to each of these.
    var subscribed: String?
    /// What makes a change.
    var publish: String
    /// What is in the answer to it.
    var acknowledged: String?
    /// How a change arrives: around `{payload}` there is as much as the server puts around it.
    var delivered: String
    /// What is in an answer that refuses something.
    var refused: String?
    /// The server's own pings: a whole message, and the answer that it waits for.
    var ping: Ping?
    /// Whether those who were slow are sent the newest of every channel in the end; false if absent.
    var keepsNewest: Bool?

    struct Ping: Codable {
        var message: String
        var answer: String
    }

    /// Reads and checks a file; fails with a sentence for the person who wrote it.
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
