import PresenceKit

/// Why a command failed: a sentence, and the exit status.
package struct Failure: Error, Hashable, Sendable {
    /// The numbers of sysexits.h where they exist, so that scripts can distinguish them.
    package enum Kind: Int32, Sendable {
        case other = 1
        /// The command line, or a file that it names, is wrong.
        case usage = 64
        /// No server can be reached, or it is full.
        case noServer = 69
        /// The terminal or another output cannot be used.
        case terminal = 74
        /// The server rejects the user.
        case refused = 77
    }

    package let kind: Kind
    package let sentence: String

    package init(_ kind: Kind, _ sentence: String) {
        self.kind = kind
        self.sentence = sentence
    }

    /// Output could not be written: a full disk, a closed output.
    package static let outputLost = Failure(.terminal, "standard output cannot be written")

    /// The failure for the error that ended a connection or an attempt.
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

    /// The failure that ends the command in this state of the connection, if any. A lost connection is no failure,
    /// because the client reconnects by itself.
    ///
    /// - Parameters:
    ///   - hasConnected: whether there was a connection before.
    ///   - tokenIsRenewable: whether reading the token again may return another one.
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
