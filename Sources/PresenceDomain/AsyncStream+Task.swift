extension AsyncStream where Element: Sendable {
    /// The newest elements that a task yields. The stream ends with the task, which is cancelled when nobody looks at the
    /// stream any more.
    ///
    /// - Parameter count: how many elements a slow loop finds; it misses older ones.
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
