import Foundation

/// The users who ask the signed-in user to be contacts. The server sends the whole list after each connection, unless it
/// is empty, and at each change.
struct OwnRequests: Sendable {
    /// `nil` until the first connection.
    private(set) var held: [Me.ContactRequest]?
    /// Increases with every change.
    private(set) var stamp: UInt64 = 0
    private var version: Int64 = 0

    /// The event of the server, and an object in it.
    private struct Event: Decodable {
        struct Request: Decodable {
            var user: String
            var displayName: String?
            var text: String?
            var at: Int64
        }
        var requests: [Request]
        var version: Int64
    }

    /// There is a new connection. A list that is empty by now is not sent.
    mutating func begin() {
        version = 0
        hold([])
    }

    /// Events of several shards may overtake each other; the larger version is the newer one.
    ///
    /// - Returns: `false` if the event cannot be read.
    mutating func hear(_ bytes: [UInt8]) -> Bool {
        guard let event = try? JSONDecoder().decode(Event.self, from: Data(bytes)) else { return false }
        guard event.version > version else { return true }
        version = event.version
        hold(
            event.requests.map {
                Me.ContactRequest(
                    user: $0.user, displayName: $0.displayName, text: $0.text, askedAt: Date(timestamp: $0.at))
            })
        return true
    }

    /// The user changed.
    mutating func forget() {
        if held != nil { hold([]) }
        version = 0
    }

    private mutating func hold(_ requests: [Me.ContactRequest]) {
        guard held != requests else { return }
        held = requests
        stamp += 1
    }
}
