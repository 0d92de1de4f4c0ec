import Foundation

// The attached libraries: their events, and what they ask for in the name of a user.
extension Runner {
    /// Reports events to a library, beginning with the current connection.
    func attach(_ listener: @escaping PresenceClient.LibraryListener) {
        handlePosted()
        libraries.append(listener)
        report(.attached(engine.userNumber), to: [listener])
        if engine.isIdentified { report(.identified(user: engine.me.account?.string), to: [listener]) }
        if engine.link.isConnected, let user = engine.me.id {
            report(.connected(user: user.string), to: [listener])
        }
        if engine.link.isRetired { report(.closed, to: [listener]) }
    }

    /// Reports an event after all earlier ones were handled.
    func report(_ event: LibraryEvent, to libraries: [PresenceClient.LibraryListener]) {
        guard !libraries.isEmpty else { return }
        lastReport = Task { [lastReport] in
            await lastReport?.value
            for library in libraries { await library(event) }
        }
    }

    /// Waits until the storage and the libraries have handled everything that happened before.
    func finishPending() async {
        handlePosted()
        await lastOperation?.value
        await lastReport?.value
    }

    // MARK: As a user

    /// Whether this is still the client's user.
    func isCurrent(_ user: UserNumber) -> Bool {
        handlePosted()
        return user == engine.userNumber
    }

    /// Appends a library's write, unless it is a former user's: its storage was or will be cleared.
    func keep(_ write: QueuedWrite, of user: UserNumber) async throws {
        guard isCurrent(user) else { throw PresenceError.signedOut }
        try await waitForStorage { [storage] in try await storage.writes.append(write) }
    }

    /// The user, as far as known, and the pending writes, also those of former users until the server has confirmed the
    /// user.
    func keptWrites() async throws -> (owner: String?, writes: [QueuedWrite]) {
        await recalled()
        let (owner, writes) = try await waitForStorage { [storage] in try await storage.writes.load() }
        return (engine.me.writer?.string ?? owner, writes)
    }

    /// Stores a library's records, unless they are a former user's. Nothing waits for that.
    func keep(_ records: [(key: String, value: Data?)], erasing: Bool, of user: UserNumber) {
        guard isCurrent(user) else { return }
        afterStorage { [storage] in await storage.history.write(records, erasing: erasing) }
    }

    /// The records of the storage's owner.
    func keptRecords() async -> [String: Data] {
        await recalled()
        let loaded = try? await waitForStorage { [storage] in await storage.history.load() }
        return loaded ?? [:]
    }

    /// Returns the connection's token, or another one if there is none or it equals `refused`. A provider that exceeds
    /// the timeout is given up.
    func token(of user: UserNumber, insteadOf refused: String?) async -> Result<String, PresenceError> {
        guard isCurrent(user) else { return .failure(.signedOut) }
        if engine.link.isRetired { return .failure(.clientClosed) }
        if let held = engine.link.token, held != refused { return .success(held) }
        let (limit, until) = (engine.link.tokenTimeout, time.now.uptime + engine.link.tokenTimeout)
        let (results, first) = AsyncStream.makeStream(of: Result<String, PresenceError>.self)
        let fetch = Task { [provideToken, isNew = refused != nil] in
            first.yield(await PresenceClient.$wantsNewToken.withValue(isNew) { await Self.token(of: provideToken) })
        }
        let wait = Task { [time] in
            try await time.sleep(until: until)
            first.yield(
                .failure(PresenceError(.tokenUnavailable, "the token provider did not answer within \(limit)")))
        }
        defer {
            fetch.cancel()
            wait.cancel()
        }
        for await result in results { return isCurrent(user) ? result : .failure(.signedOut) }
        return .failure(PresenceError(.cancelled, "the call was cancelled"))
    }
}
