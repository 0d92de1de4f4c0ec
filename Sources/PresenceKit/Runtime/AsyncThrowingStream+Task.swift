extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
    /// All elements that a task yields. If the task throws, so does the stream. The task is cancelled when the stream
    /// is no longer used.
    package init(yieldElements: @escaping @Sendable (Continuation) async throws -> Void) {
        let (stream, elements) = Self.makeStream()
        let task = Task {
            do {
                try await yieldElements(elements)
                elements.finish()
            } catch {
                elements.finish(throwing: error)
            }
        }
        elements.onTermination = { _ in task.cancel() }
        self = stream
    }
}
