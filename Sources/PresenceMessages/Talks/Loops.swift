import Foundation

/// The app's loops on one topic: each gets the current value, then the newest after each change.
struct Loops<Element: Sendable & Equatable> {
    typealias Loop = AsyncStream<Element>.Continuation
    private var loops: [UUID: Loop] = [:]
    private var last: Element?

    var isEmpty: Bool { loops.isEmpty }

    /// - Parameter element: the current value; `nil` if it is unknown.
    mutating func add(_ id: UUID, _ loop: Loop, _ element: Element?) {
        loops[id] = loop
        // If it is unknown, the next published value is new to this loop.
        last = element
        if let element { loop.yield(element) }
    }

    mutating func remove(_ id: UUID) { loops[id] = nil }

    mutating func finish() {
        for loop in loops.values { loop.finish() }
        loops = [:]
    }

    mutating func publish(_ element: Element) {
        guard element != last else { return }
        last = element
        for loop in loops.values { loop.yield(element) }
    }
}

/// A sequence of values; each iterator is its own loop.
struct LoopSequence<Element: Sendable & Equatable>: AsyncSequence, Sendable {
    typealias Failure = Never
    let begin: @Sendable (UUID, AsyncStream<Element>.Continuation) async -> Void
    let end: @Sendable (UUID) async -> Void

    func makeAsyncIterator() -> AsyncStream<Element>.Iterator {
        let (stream, loop) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        let beginning = Task { await begin(id, loop) }
        loop.onTermination = { [end] _ in
            // The loop may end before it has begun.
            Task {
                await beginning.value
                await end(id)
            }
        }
        return stream.makeAsyncIterator()
    }
}
