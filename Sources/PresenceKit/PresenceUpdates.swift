/// A sequence of the newest values of something observed; ends with the loop, with the client's sign-out, or after an
/// element that was refused.
///
/// It may be iterated more than once and from several tasks; each loop gets every value that is the newest when it asks.
public struct PresenceUpdates<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    public func makeAsyncIterator() -> Iterator {
        Iterator()
    }

    /// Ends its observation when the last copy of it goes.
    public struct Iterator: AsyncIteratorProtocol {
        public typealias Failure = Never

        public mutating func next() async -> Element? {
            fatalError()
        }
    }
}
