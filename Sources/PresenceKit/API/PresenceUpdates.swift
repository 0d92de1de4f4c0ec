/// A sequence of the newest values of something observed. It ends with the loop, with the task, with the client's
/// sign-out, or after an element that no id could be made of.
///
/// It may be iterated more than once and from several tasks; each loop gets the value that is the newest when it asks.
/// It keeps the client alive.
public struct PresenceUpdates<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    enum Source: Sendable {
        /// There is nothing to observe: one element says why.
        case only(Element)
        case topic(Topic, read: @Sendable (inout Engine, ObserverID) -> Element?)
    }

    private let client: PresenceClient
    private let source: Source

    init(_ client: PresenceClient, _ source: Source) {
        self.client = client
        self.source = source
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(client: client, source: source)
    }

    /// Ends its observation when the last copy of it goes.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        public typealias Failure = Never

        private let client: PresenceClient
        private let source: Source
        private var observation: Observation?
        private var isOver = false

        fileprivate init(client: PresenceClient, source: Source) {
            self.client = client
            self.source = source
        }

        /// The newest value, as soon as there is one that this loop has not got; `nil` at the end.
        public mutating func next() async -> Element? {
            guard !isOver else { return nil }
            guard case .topic(let topic, let read) = source else {
                isOver = true
                if case .only(let element) = source { return element }
                return nil
            }
            if observation == nil {
                observation = Observation(runner: client.runner, id: await client.runner.observe(topic))
            }
            let element = await client.runner.next(observation!.id, read)
            if element == nil {
                isOver = true
                observation = nil
            }
            return element
        }
    }
}

/// The share that one loop has in an observation; its end ends it.
private final class Observation: Sendable {
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
