// What the storage has to do, one after the other.
extension Runner {
    /// The same for what is waited for: for the disk only, and also by a task that is cancelled. What is on its way to the
    /// disk arrives there, so nobody may be told that it did not.
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

    func clear(_ clearing: Clearing, _ andWrites: Bool) {
        afterStorage { [storage, logger] in
            do {
                try await storage.cache.removeAll()
            } catch {
                logger?.log(.error, "the people that the user knew cannot be removed: \(error)")
            }
            do {
                if andWrites { try await storage.writes.removeAll() }
            } catch {
                logger?.log(.error, "the writes of the user cannot be removed: \(error)")
            }
            await self.handle(.cacheCleared(clearing))
        }
    }

    func storeOwner(_ user: String) {
        afterStorage { [storage, logger] in
            do {
                try await storage.writes.setOwner(user)
            } catch {
                logger?.log(.error, "whose storage it is cannot be noted: \(error)")
            }
        }
    }

    func store(_ write: QueuedWrite, _ call: CallID?) {
        afterStorage { [storage] in
            do {
                try await storage.writes.append(write)
                await self.handle(.stored(write.id, call, nil))
            } catch {
                let error = PresenceError(.storageFailed, "a write cannot be kept: \(error)")
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
                let error = PresenceError(.storageFailed, "writes that are done cannot be removed: \(error)")
                await self.handle(.removed(ids, error))
            }
        }
    }
}
