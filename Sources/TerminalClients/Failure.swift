import PresenceKit

/// Why the watcher cannot do what it was asked: one sentence, and a status to exit with.
package struct Failure: Error, Hashable, Sendable {
    /// The numbers of sysexits.h where it has one, so that scripts can tell them apart.
    package enum Kind: Int32, Sendable {
        case other = 1
        /// The command line, or what it names, is wrong.
        case usage = 64
        /// No server answers, or it has no room.
        case noServer = 69
        /// The terminal, or another output, cannot be used.
        case terminal = 74
        /// The server does not let us.
        case refused = 77
    }

    package let kind: Kind
    package let sentence: String

    package init(_ kind: Kind, _ sentence: String) {
        self.kind = kind
        self.sentence = sentence
    }

    /// What was to be printed was not taken: a full disk, a closed output.
    package static let outputLost = Failure(.terminal, "standard output cannot be written")

    /// What ended a connection, or kept one from being made.
    package init(_ error: PresenceError, address: String) {
        switch error.code {
        case .unauthorized:
            self.init(
                .refused, "\(error.message); `presenced token USER`, with the server's --data-dir, makes a new one")
        case .replaced, .disconnectedByAdministrator, .forbidden, .tooMany:
            self.init(.refused, error.message)
        case .connectionLost, .timedOut, .notConnected, .serverUnavailable, .unavailable:
            self.init(.noServer, "no connection to \(address): \(error.message)")
        case .tokenUnavailable:
            self.init(.usage, error.message)
        default:
            self.init(.other, error.message)
        }
    }

    /// Whether this state of the connection is the end. A server that is lost after it was there is none: the client
    /// comes back by itself.
    ///
    /// - Parameters:
    ///   - hasConnected: whether there has been a connection.
    ///   - tokenIsRenewable: whether asking for the token again may bring another one.
    package init?(_ state: ConnectionState, hasConnected: Bool, tokenIsRenewable: Bool, address: String) {
        switch state {
        case .closed(let error?):
            self.init(error, address: address)
        case .reconnecting(_, let error) where !hasConnected:
            self.init(error, address: address)
        case .reconnecting(_, let error) where error.code == .unauthorized && !tokenIsRenewable:
            self.init(error, address: address)
        case .idle, .connecting, .live, .stale, .reconnecting, .closed(nil):
            return nil
        }
    }
}
