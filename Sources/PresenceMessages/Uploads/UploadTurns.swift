import Foundation
import PresenceKit

/// Serializes uploads, because a server accepts one per user at a time.
actor UploadTurns {
    /// The maximum number of waiting uploads.
    static let maximumWaiting = 100

    private var isTaken = false
    private var waiting: [(id: UUID, turn: CheckedContinuation<Void, any Error>)] = []

    /// Runs a body when those of all earlier calls have ended.
    ///
    /// - Throws: the error of the body; `tooMany`; `CancellationError`, also while it waits.
    nonisolated func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await waitForTurn()
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await release()
        return try result.get()
    }

    private func waitForTurn() async throws {
        try Task.checkCancellation()
        guard isTaken else {
            isTaken = true
            return
        }
        guard waiting.count < Self.maximumWaiting else {
            throw PresenceError(.tooMany, "\(Self.maximumWaiting) uploads are waiting already")
        }
        let id = UUID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting.append((id, $0)) }
        } onCancel: {
            Task { await self.leave(id) }
        }
    }

    private func leave(_ id: UUID) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).turn.resume(throwing: CancellationError())
    }

    private func release() {
        guard !waiting.isEmpty else { return isTaken = false }
        waiting.removeFirst().turn.resume()
    }
}
