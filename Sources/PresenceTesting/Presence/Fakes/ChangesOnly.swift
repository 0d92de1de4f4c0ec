import PresenceKit

/// A part of a sequence's elements, yielded each time that this part changes.
struct ChangesOnly<Source: Sendable, Element: Equatable & Sendable>: AsyncSequence, Sendable {
    typealias Failure = Never
    private let base: PresenceUpdates<Source>
    private let part: @Sendable (Source) -> Element?

    /// - Parameter part: returns `nil` if there is nothing to show.
    init(_ base: PresenceUpdates<Source>, _ part: @escaping @Sendable (Source) -> Element?) {
        self.base = base
        self.part = part
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), part: part) }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Never
        fileprivate var base: PresenceUpdates<Source>.Iterator
        fileprivate let part: @Sendable (Source) -> Element?
        private var last: Element?

        fileprivate init(base: PresenceUpdates<Source>.Iterator, part: @escaping @Sendable (Source) -> Element?) {
            self.base = base
            self.part = part
        }

        mutating func next() async -> Element? {
            while let source = await base.next() {
                guard let element = part(source), element != last else { continue }
                last = element
                return element
            }
            return nil
        }
    }
}
