/// A sequence of the newest values of an observed topic. It ends when the task is cancelled, when the client signs out,
/// or after the element for a malformed id.
///
/// It may be iterated several times and from several tasks; each loop gets the newest value when it asks for one. The
/// sequence retains its client. A sequence made from the app's own sequence behaves as the app's sequence does.
public struct PresenceUpdates<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    enum Source: Sendable {
        /// These elements only; nothing is observed.
        case only([Element])
        case topic(PresenceClient, Topic, read: @Sendable (inout Engine, ObserverID) -> Element?)
        /// Another sequence. Each iteration makes its own iterator.
        case other(@Sendable () -> any ElementSource<Element>)
    }

    private let source: Source

    init(_ source: Source) {
        self.source = source
    }

    /// Yields the given elements, then ends: for previews and tests.
    public init(_ elements: [Element]) {
        self.init(.only(elements))
    }

    /// Yields all elements of another sequence, and ends if it throws.
    ///
    /// It can be iterated as often as `sequence` can.
    public init<Other: AsyncSequence & Sendable>(_ sequence: Other) where Other.Element == Element {
        self.init(.other { IteratedSource(sequence) })
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(source)
    }

    /// Its observation ends when the iterator's last copy is released.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        public typealias Failure = Never

        private let source: Source
        private var observation: ObservationShare?
        private var other: (any ElementSource<Element>)?
        private var position = 0
        private var isOver = false

        fileprivate init(_ source: Source) {
            self.source = source
        }

        /// Waits for a value that this loop has not received yet, and returns the newest; `nil` at the end.
        public mutating func next() async -> Element? {
            guard !isOver else { return nil }
            let element = await find()
            if element == nil {
                isOver = true
                observation = nil
                other = nil
            }
            return element
        }

        private mutating func find() async -> Element? {
            switch source {
            case .only(let elements):
                defer { position += 1 }
                return position < elements.count ? elements[position] : nil
            case .topic(let client, let topic, let read):
                if observation == nil {
                    observation = ObservationShare(runner: client.runner, id: await client.runner.observe(topic))
                }
                return await client.runner.next(observation!.id, read)
            case .other(let make):
                if other == nil { other = make() }
                return await other!.next()
            }
        }
    }
}

/// The source of the elements of one loop.
protocol ElementSource<Element>: Sendable {
    associatedtype Element: Sendable
    func next() async -> Element?
}

/// An iterator of any sequence, with one caller at a time.
private actor IteratedSource<Base: AsyncSequence & Sendable>: ElementSource where Base.Element: Sendable {
    /// `nil` while a call uses it, and after the end.
    private var iterator: Base.AsyncIterator?

    init(_ base: Base) {
        iterator = base.makeAsyncIterator()
    }

    func next() async -> Base.Element? {
        guard let taken = iterator else { return nil }
        iterator = nil
        // Unsafe: this call is the only user. The iterator was made in `init`, and the actor has just cleared its
        // reference.
        nonisolated(unsafe) var iterator = taken
        guard let element = try? await iterator.next() else { return nil }
        self.iterator = iterator
        return element
    }
}

/// Keeps one loop's observation alive and ends it on release. (Not named `Observation`, which is a module that macros
/// refer to.)
package final class ObservationShare: Sendable {
    let runner: Runner
    let id: ObserverID

    init(runner: Runner, id: ObserverID) {
        self.runner = runner
        self.id = id
    }

    deinit {
        Task { [runner, id] in await runner.handle(.unobserve(id)) }
    }
}
