import PresenceKit

/// The common part of the libraries on a client: their user, their connection, and the data that an earlier process left.
protocol ClientLibrary: Actor {
    nonisolated var client: PresenceClient { get }
    /// Tells when to try again what the server found too fast.
    var clock: any Clock<Duration> { get }

    /// Whether what an earlier process left was read.
    var isRestored: Bool { get set }
    /// Callers that wait for it.
    var restorations: [CheckedContinuation<Void, Never>] { get set }

    /// The own user, as far as it is known: before the first connection it may be the one of an earlier process.
    var own: String? { get }
    /// Whether the server has said who that is.
    var isOwnConfirmed: Bool { get }
    /// Counts the connections and the sign-outs, so that an answer for an earlier one has no effect.
    var generation: Int { get }
    /// Whether there is a connection, as far as is known.
    var isConnected: Bool { get set }

    /// The own user is another one than the storage said.
    func adopt(_ user: String)
}

extension ClientLibrary {
    /// What an earlier process left was read.
    func endRestoration() {
        isRestored = true
        restorations.forEach { $0.resume() }
        restorations = []
    }

    /// Waits for what an earlier process left: for the disk, not for a connection.
    func restored() async {
        if !isRestored { await withCheckedContinuation { restorations.append($0) } }
    }

    /// - Throws: `notConnected` if there never was a connection, which then begins; `signedOut` if the user changed meanwhile.
    func ownUser() async throws -> String {
        await restored()
        if isOwnConfirmed, let own { return own }
        let asked = generation
        let known = await client.ownID
        if asked != generation {
            // The connection was made, or the user changed, while the client was asked.
            guard isOwnConfirmed, let own, own == known else {
                throw PresenceError(.signedOut, "the user signed out or was changed")
            }
            return own
        }
        guard let user = known else {
            client.beginConnecting()
            throw PresenceError(.notConnected, "the own user is not known before the first connection")
        }
        if own != user { adopt(user) }
        return user
    }

    /// A request failed: whether it may be made again on this connection, after the delay that was waited for.
    ///
    /// - Parameter faults: how many answers in a row nothing explains; this one is added.
    func mayRetry(after error: PresenceError, _ asked: Int, faults: inout Int) async -> Bool {
        guard asked == generation, error.isPassing else { return false }
        faults = error.isUnexplained ? faults + 1 : 0
        switch error.code {
        case .connectionLost, .notConnected, .signedOut:
            // The next connection brings it.
            isConnected = false
            return false
        default:
            try? await clock.sleep(for: error.delay(after: faults))
            return asked == generation
        }
    }
}
