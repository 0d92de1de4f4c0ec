import Foundation
import PresenceKit

// Sending from the outbox.
extension ClientLibrary {
    // MARK: Storing

    /// Adds an entry to the outbox; it is stored when this returns.
    ///
    /// - Throws: `storageFailed`; `signedOut` if the user changed meanwhile. A change that must be stored is dropped then.
    /// - Returns: the id of the entry.
    @discardableResult
    func keep(_ work: Outbox.Work, of owner: String) async throws(PresenceError) -> String {
        let entry = outbox.append(work, of: owner)
        show(work)
        if !work.waitsForStorage { pump(work.lane) }
        do {
            try await client.keep(Outbox.write(entry), of: userNumber)
        } catch {
            if work.waitsForStorage { outbox.remove([entry.id]) } else { outbox.unstored(entry.id) }
            show(work)
            pump(work.lane)
            if let error = error as? PresenceError, error.code == .signedOut { throw error }
            throw PresenceError(.storageFailed, "the change cannot be stored: \(error)")
        }
        // It is sent only after that, so that the caller is there when the server replies.
        await removeStored(outbox.replaced(by: entry.id))
        guard outbox[entry.id] != nil else {
            outbox.remove([entry.id])
            await removeStored([entry.id])
            throw .signedOut
        }
        outbox.stored(entry.id)
        return entry.id
    }

    /// Removes writes that are not needed any more. If that fails, the next removal includes them.
    func removeStored(_ ids: [String]) async {
        // In one operation with those of before: no older write stays in the storage without a newer one.
        outbox.unremoved += ids
        try? await forgetWrites([])
    }

    /// Removes writes from the storage, with those whose removal failed before.
    func forgetWrites(_ ids: [String]) async throws(PresenceError) {
        let all = outbox.unremoved + ids
        guard !all.isEmpty else { return }
        do {
            try await client.removeWrites(all)
        } catch {
            throw PresenceError(.storageFailed, "writes cannot be removed: \(error)")
        }
        outbox.unremoved.removeAll { all.contains($0) }
    }

    // MARK: Sending in order

    /// There is a new connection.
    func pumpAll() {
        outbox.endPauses()
        for lane in outbox.lanes { pump(lane) }
    }

    /// Sends the entries of a lane, unless that is in progress.
    func pump(_ lane: String) {
        guard isConnected else {
            // Connects, because a process that only sends makes no other call that would.
            client.beginConnecting()
            return release(lane)
        }
        guard let loop = outbox.begin(lane) else { return }
        run { library in
            var faults = 0
            while library.isConnected, library.outbox.sending[lane] == loop, let batch = library.outbox.next(in: lane) {
                await library.deliver(batch, in: loop, &faults)
            }
            guard library.outbox.sending[lane] == loop else { return }
            library.outbox.sending[lane] = nil
            if !library.isConnected { library.release(lane) }
        }
    }

    /// - Parameter faults: the number of unexplained errors in a row.
    private func deliver(_ batch: Outbox.Batch, in loop: Int, _ faults: inout Int) async {
        let (asked, lane) = (generation, batch.work.lane)
        do throws(PresenceError) {
            let made = try await make(batch.work)
            faults = 0
            let stored = outbox.remove(batch.ids)
            show(batch.work)
            await removeStored(stored)
            complete(.made(made), of: batch)
        } catch {
            let isFault = error.isUnexplained && faults >= Outbox.mostFaults - 1 && batch.work.canFail
            if batch.work.isFinal(error) || isFault, asked == generation {
                faults = 0
                return await refused(batch, error)
            }
            // Repeated regardless of the outcome.
            release(lane, error.code == .signedOut ? .refused(error) : .waits)
            guard asked == generation else { return }
            outbox.paused.insert(lane)
            let mayRetry = await mayRetry(after: error, asked, faults: &faults)
            guard outbox.sending[lane] == loop else { return }
            outbox.paused.remove(lane)
            // Sent again with the next entry or connection.
            if !mayRetry, !error.isPassing { outbox.sending[lane] = nil }
        }
    }

    /// Reports the rejection to the waiting call. If none waits, the failed entry is stored until the app handles it.
    private func refused(_ batch: Outbox.Batch, _ error: PresenceError) async {
        let lane = batch.work.lane
        if batch.work.canFail, let entry = outbox[batch.ids[0]], outbox.outcomes[lane]?[entry.id] == nil {
            outbox.set(entry.id, .failed(error))
            show(batch.work)
            if let write = try? Outbox.failure(entry, error) { try? await client.keep(write, of: userNumber) }
        } else {
            let stored = outbox.remove(batch.ids)
            show(batch.work)
            await removeStored(stored)
            complete(.refused(error), of: batch)
        }
    }

    // MARK: Waiting calls

    /// Waits until an entry is made, fails or is delayed.
    func outcome(of id: String, in lane: String, isThere: Bool = true) async -> Outcome {
        guard isThere, isConnected, outbox[id]?.hasFailed == false, !outbox.paused.contains(lane) else {
            pump(lane)
            return .waits
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                outbox.outcomes[lane, default: [:]][id] = continuation
                pump(lane)
            }
        } onCancel: {
            // It runs on this actor, after the continuation is there.
            Task { await self.cancelWait(for: id, in: lane) }
        }
    }

    private func cancelWait(for id: String, in lane: String) {
        outbox.outcomes[lane]?.removeValue(forKey: id)?.resume(returning: .cancelled)
    }

    /// Ends the wait for the entries of a request. A call whose entry was replaced waits for the last one of the lane.
    private func complete(_ outcome: Outcome, of batch: Outbox.Batch) {
        let lane = batch.work.lane
        let isLast = !outbox.lanes.contains(lane)
        for id in (outbox.outcomes[lane] ?? [:]).keys where isLast || batch.ids.contains(id) {
            outbox.outcomes[lane]!.removeValue(forKey: id)!.resume(returning: outcome)
        }
    }

    /// Ends the wait of all calls of a lane.
    func release(_ lane: String, _ outcome: Outcome = .waits) {
        for waiting in (outbox.outcomes.removeValue(forKey: lane) ?? [:]).values { waiting.resume(returning: outcome) }
    }
}
