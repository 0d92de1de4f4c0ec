import Foundation
import PresenceKit

/// The common part of the libraries on a client: user, connection, requests, and the restored data of an earlier process.
protocol ClientLibrary: Actor {
    nonisolated var client: PresenceClient { get }
    /// The clock for retries after rate limits.
    var clock: any Clock<Duration> { get }
    /// The tasks that the library started, which end when the app closes the client.
    nonisolated var tasks: ClosableTasks { get }

    /// Whether the data of an earlier process was read.
    var isRestored: Bool { get set }
    /// Calls that wait for the restoration.
    var restorations: [CheckedContinuation<Void, Never>] { get set }

    /// The signed-in user, as far as known. Before the first connection it may be the user of an earlier process.
    var own: String? { get }
    /// Whether the server has confirmed the user.
    var isOwnConfirmed: Bool { get }
    /// The number that the client gave the user. By it the client refuses requests of a former user.
    var userNumber: UserNumber { get }
    /// Incremented by each connection and sign-out, so that a reply to an earlier one has no effect.
    var generation: Int { get }
    /// Whether there is a connection, as far as known.
    var isConnected: Bool { get set }

    /// Makes this the own user, because it differs from the one in the storage.
    func adopt(_ user: String)

    var outbox: Outbox { get set }
    /// Makes the request of an outbox's entry, and handles the reply. Returns the changed message, if there is one.
    func make(_ work: Outbox.Work) async throws(PresenceError) -> Wire.Message?
    /// An entry was added or is done, which the app sees.
    func show(_ work: Outbox.Work)
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

    /// Returns the signed-in user's id. Connects if there never was a connection.
    ///
    /// - Throws: `notConnected` without a connection so far, or if the app closed the client; `signedOut` after a sign-out,
    ///   or if the user changed meanwhile.
    func ownUser() async throws -> String {
        await restored()
        if isOwnConfirmed, let own { return own }
        let asked = generation
        let known = try await client.ownID()
        if asked != generation {
            // The connection was made, or the user changed, while the client was called.
            guard isOwnConfirmed, let own, own == known else { throw PresenceError.signedOut }
            return own
        }
        guard let user = known else {
            client.beginConnecting()
            throw PresenceError(.notConnected, "the user is unknown until the first connection")
        }
        if own != user { adopt(user) }
        return user
    }

    // MARK: The app's loops

    /// A sequence whose loops are added and removed by these bodies.
    nonisolated func loops<Element>(
        add: @escaping @Sendable (isolated Self, UUID, Loops<Element>.Loop) async -> Void,
        remove: @escaping @Sendable (isolated Self, UUID) -> Void
    ) -> LoopSequence<Element> {
        LoopSequence(begin: { await self.begin($0, $1, add) }, end: { await remove(self, $0) })
    }

    private func begin<Element>(
        _ id: UUID, _ loop: Loops<Element>.Loop, _ add: (isolated Self, UUID, Loops<Element>.Loop) async -> Void
    ) async {
        await restored()
        if tasks.isClosed { loop.finish() } else { await add(self, id, loop) }
    }

    // MARK: Requests

    /// Runs a body after an earlier one.
    func next(
        after former: Task<Bool, any Error>?, _ body: @escaping @Sendable (isolated Self) async throws -> Bool
    ) -> Task<Bool, any Error> {
        Task {
            _ = await former?.result
            guard let result = try await tasks.run({ [self] in try await body(self) }) else {
                throw PresenceError.clientClosed
            }
            return result
        }
    }

    /// Runs a body, and again if a connection was made meanwhile.
    func runForConnection(_ body: (isolated Self) async -> Void) async {
        var asked = generation
        repeat {
            asked = generation
            await body(self)
        } while isConnected && asked != generation
    }

    /// Runs a body in a task, which ends when the app closes the client.
    nonisolated func run(_ body: @escaping @Sendable (isolated Self) async -> Void) {
        tasks.start { [self] in await body(self) }
    }

    /// Sends a request and returns the parts of the reply.
    ///
    /// - Parameter user: the user who makes the request; by default the present one.
    /// - Throws: as the client; `signedOut` also if the user changed before the reply is handled.
    func ask(
        _ type: String, _ members: some Encodable, of user: UserNumber? = nil
    ) async throws(PresenceError) -> [Data] {
        // Before that the number is unknown.
        await restored()
        let user = user ?? userNumber
        let encoded: Data
        do {
            encoded = try JSONEncoder().encode(members)
        } catch {
            throw PresenceError(.badRequest, "\(type) cannot be written: \(error)")
        }
        let parts = try await client.ask(type: type, members: encoded, of: user)
        guard user == userNumber else {
            var error = PresenceError.signedOut
            error.outcomeUnknown = true
            throw error
        }
        return parts
    }

    /// The same for a reply in one part.
    func ask<Answer: Decodable>(
        _ type: String, _ members: some Encodable, _ answer: Answer.Type, of user: UserNumber? = nil
    ) async throws(PresenceError) -> Answer {
        let parts: [Data] = try await ask(type, members, of: user)
        return try Wire.read(answer, parts.first ?? Data())
    }

    /// The same for a reply in several parts.
    func askParts<Answer: Decodable>(
        _ type: String, _ members: some Encodable, _ answer: Answer.Type
    ) async throws(PresenceError) -> [Answer] {
        var answers: [Answer] = []
        for part in try await ask(type, members) { answers.append(try Wire.read(answer, part)) }
        return answers
    }

    /// Sends a request for a call of the app, which throws `CancellationError` if it is cancelled.
    func call(_ type: String, _ members: some Encodable) async throws -> [Data] {
        do throws(PresenceError) { return try await ask(type, members) } catch { throw error.thrown }
    }

    /// The same for a reply in one part.
    func call<Answer: Decodable>(
        _ type: String, _ members: some Encodable, _ answer: Answer.Type, of user: UserNumber? = nil
    ) async throws -> Answer {
        do throws(PresenceError) { return try await ask(type, members, answer, of: user) } catch { throw error.thrown }
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
