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
        afterStorage { [storage, logger] in
            do {
                try await storage.cache.removeAll()
            } catch {
                logger?.log(.error, "the user's cache cannot be removed: \(error)")
            }
            do {
                try await storage.history.removeAll()
            } catch {
                logger?.log(.error, "the user's messages cannot be removed: \(error)")
            }
            do {
                if andWrites { try await storage.writes.removeAll() }
            } catch {
                logger?.log(.error, "the user's queued writes cannot be removed: \(error)")
            }
            await self.handle(.cacheCleared(clearing))
        }
    }

    func storeOwner(_ user: String) {
        afterStorage { [storage, logger] in
            do {
                try await storage.writes.setOwner(user)
            } catch {
                logger?.log(.error, "the owner of the storage cannot be set: \(error)")
            }
        }
    }

    func store(_ write: QueuedWrite, _ call: CallID?) {
        afterStorage { [storage] in
            do {
                try await storage.writes.append(write)
                await self.handle(.stored(write.id, call, nil))
            } catch {
                let error = PresenceError(.storageFailed, "a write cannot be stored: \(error)")
                await self.handle(.stored(write.id, call, error))
            }
        }
    }

    func removeWrites(_ ids: [String]) {
        afterStorage { [storage] in
            do {
                try await storage.writes.remove(ids)
                await self.handle(.removed(ids, nil))
            } catch {
                let error = PresenceError(.storageFailed, "completed writes cannot be removed: \(error)")
                await self.handle(.removed(ids, error))
            }
        }
    }
}
