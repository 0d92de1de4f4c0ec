import PresenceKit

/// The common part of the libraries on a client: user, connection, and the restored data of an earlier process.
protocol ClientLibrary: Actor {
    nonisolated var client: PresenceClient { get }
    /// The clock for retries after rate limits.
    var clock: any Clock<Duration> { get }

    /// Whether the data of an earlier process was read.
    var isRestored: Bool { get set }
    /// Calls that wait for the restoration.
    var restorations: [CheckedContinuation<Void, Never>] { get set }

    /// The signed-in user, as far as known. Before the first connection it may be the user of an earlier process.
    var own: String? { get }
    /// Whether the server has confirmed the user.
    var isOwnConfirmed: Bool { get }
    /// Incremented by each connection and sign-out, so that a reply to an earlier one has no effect.
    var generation: Int { get }
    /// Whether there is a connection, as far as known.
    var isConnected: Bool { get set }

    /// The user differs from the one in the storage.
    func adopt(_ user: String)
}

extension ClientLibrary {
    /// The data of an earlier process was read.
    func endRestoration() {
        isRestored = true
        restorations.forEach { $0.resume() }
        restorations = []
    }

    /// Waits until the data of an earlier process is read. Depends on the disk only, not on a connection.
    func restored() async {
        if !isRestored { await withCheckedContinuation { restorations.append($0) } }
    }

    /// - Throws: `notConnected` if there never was a connection, and starts to connect; `signedOut` if the user changed
    ///   meanwhile.
    func ownUser() async throws -> String {
        await restored()
        if isOwnConfirmed, let own { return own }
        let asked = generation
        let known = await client.ownID
        if asked != generation {
            // The connection was made, or the user changed, while the client was called.
            guard isOwnConfirmed, let own, own == known else {
                throw PresenceError(.signedOut, "the user signed out or was changed")
            }
            return own
        }
        guard let user = known else {
            client.beginConnecting()
            throw PresenceError(.notConnected, "the user is unknown until the first connection")
        }
        if own != user { adopt(user) }
        return user
    }

    /// Handles a failed request: waits for the delay and returns whether it may be repeated on this connection.
    ///
    /// - Parameter faults: the number of unexplained errors in a row; updated with this one.
    func mayRetry(after error: PresenceError, _ asked: Int, faults: inout Int) async -> Bool {
        guard asked == generation, error.isPassing else { return false }
        faults = error.isUnexplained ? faults + 1 : 0
        switch error.code {
        case .connectionLost, .notConnected, .signedOut:
            // The request is repeated on the next connection.
            isConnected = false
            return false
        default:
            try? await clock.sleep(for: error.delay(after: faults))
            return asked == generation
        }
    }
}
