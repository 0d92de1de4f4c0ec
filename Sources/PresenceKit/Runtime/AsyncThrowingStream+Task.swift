extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
    /// All elements that a task yields; where the task throws, so does the stream. The task is cancelled when nobody looks at
    /// the stream any more.
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
