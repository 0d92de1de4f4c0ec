// What the storage has to do, one after the other.
extension Runner {
    /// The same for what is waited for.
    func waitForStorage<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (results, report) = AsyncStream.makeStream(of: Result<Value, any Error>.self)
        afterStorage {
            do { report.yield(.success(try await operation())) } catch { report.yield(.failure(error)) }
            report.finish()
        }
        for await result in results { return try result.get() }
        throw CancellationError()
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
