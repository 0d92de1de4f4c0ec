/// A sequence of the newest values of something observed. It ends with the loop, with the task, with the client's
/// sign-out, or after the element for a malformed id.
///
/// It may be iterated more than once and from several tasks; each loop gets the value that is the newest when it asks.
/// It keeps its client alive. One that an app makes from a sequence of its own behaves as that sequence does.
public struct PresenceUpdates<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    enum Source: Sendable {
        /// There is nothing to observe: these elements, and the end.
        case only([Element])
        case topic(PresenceClient, Topic, read: @Sendable (inout Engine, ObserverID) -> Element?)
        /// Another sequence: each iteration takes an iterator of it.
        case other(@Sendable () -> any ElementSource<Element>)
    }

    private let source: Source

    init(_ source: Source) {
        self.source = source
    }

    /// These elements, then the end: for previews and tests.
    public init(_ elements: [Element]) {
        self.init(.only(elements))
    }

    /// The elements of another sequence, each of them; where it throws, this ends.
    ///
    /// It may be iterated as often as `sequence` may.
    public init<Other: AsyncSequence & Sendable>(_ sequence: Other) where Other.Element == Element {
        self.init(.other { IteratedSource(sequence) })
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(source)
    }

    /// Ends its observation when the last copy of it goes.
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

        /// The newest value, as soon as there is one that this loop has not got; `nil` at the end.
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

/// Where the elements of one loop come from.
protocol ElementSource<Element>: Sendable {
    associatedtype Element: Sendable
    func next() async -> Element?
}

/// An iterator of any sequence, with one caller at a time.
private actor IteratedSource<Base: AsyncSequence & Sendable>: ElementSource where Base.Element: Sendable {
    /// `nil` while a caller has it, and after the end.
    private var iterator: Base.AsyncIterator?

    init(_ base: Base) {
        iterator = base.makeAsyncIterator()
    }

    func next() async -> Base.Element? {
        guard let taken = iterator else { return nil }
        iterator = nil
        // Unsafe: nobody else has it. It was made here, and the actor has just given it away.
        nonisolated(unsafe) var iterator = taken
        guard let element = try? await iterator.next() else { return nil }
        self.iterator = iterator
        return element
    }
}

/// The share that one loop has in an observation; its end ends it. (Not `Observation`, which is a module that macros name.)
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
