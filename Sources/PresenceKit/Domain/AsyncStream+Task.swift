extension AsyncStream where Element: Sendable {
    /// The newest elements that a task yields. The stream ends with the task, which is cancelled when the stream is no
    /// longer used.
    ///
    /// - Parameter count: how many elements are buffered for a slow loop; older ones are dropped.
    package init(newest count: Int = 1, _ yieldElements: @escaping @Sendable (Continuation) async -> Void) {
        let (stream, elements) = Self.makeStream(bufferingPolicy: .bufferingNewest(count))
        let task = Task {
            await yieldElements(elements)
            elements.finish()
        }
        elements.onTermination = { _ in task.cancel() }
        self = stream
    }
}
