// Storage operations, performed one after the other.
extension Runner {
    /// Performs an operation and waits for it. The wait depends only on the disk and ignores the task's cancellation:
    /// the operation takes place anyway, so it must not be reported as cancelled.
    func waitForStorage<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            afterStorage {
                do {
                    continuation.resume(returning: try await operation())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Closes the client and the attached libraries, and then the storage: everything that was written before is in it.
    func close() async {
        _ = await ask { .close($0) }
        await finishPending()
        await afterStorage { [storage] in await storage.close() }.value
    }

    func clear(_ clearing: Clearing, _ andWrites: Bool) {
        afterStorage { [storage] in
            await self.attempt("the user's cache cannot be removed") { try await storage.cache.removeAll() }
            await self.attempt("the user's messages cannot be removed") { try await storage.history.removeAll() }
            if andWrites {
                await self.attempt("the queued writes cannot be removed") { try await storage.writes.removeAll() }
            }
            await self.handle(.cacheCleared(clearing))
        }
    }

    func storeOwner(_ user: String) {
        afterStorage { [storage] in
            await self.attempt("the owner of the storage cannot be set") { try await storage.writes.setOwner(user) }
        }
    }

    func store(_ write: QueuedWrite) {
        afterStorage { [storage] in
            let error = await Self.error("a write cannot be stored") { try await storage.writes.append(write) }
            await self.handle(.stored(write.id, error))
        }
    }

    func removeWrites(_ ids: [String]) {
        afterStorage { [storage] in
            let error = await Self.error("completed writes cannot be removed") { try await storage.writes.remove(ids) }
            await self.handle(.removed(ids, error))
        }
    }

    /// Performs an operation, and logs its error.
    private nonisolated func attempt(_ failure: String, _ operation: @Sendable () async throws -> Void) async {
        if let error = await Self.error(failure, operation) { logger?.log(.error, error.message) }
    }

    /// Performs an operation, and returns its error.
    private static func error(
        _ failure: String, _ operation: @Sendable () async throws -> Void
    ) async -> PresenceError? {
        do {
            try await operation()
            return nil
        } catch {
            return PresenceError(.storageFailed, "\(failure): \(error)")
        }
    }
}
