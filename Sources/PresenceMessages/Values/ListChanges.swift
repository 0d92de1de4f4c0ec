/// The changes of a list since the loop's previous element, by the ids of the entries, in the order of the list.
public struct ListChanges: Codable, Hashable, Sendable {
    /// New entries; in a loop's first element, all.
    public var added: [String] = []
    /// Entries with changed values.
    public var changed: [String] = []
    /// Entries that are no longer in the list.
    public var removed: [String] = []

    /// Creates changes, for fakes and previews; none by default.
    public init(added: [String] = [], changed: [String] = [], removed: [String] = []) {
        (self.added, self.changed, self.removed) = (added, changed, removed)
    }

    /// Whether there are no changes.
    public var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }

    /// The changes between two lists.
    ///
    /// - Parameter key: identifies an entry.
    init<Entries: Collection, Key: Hashable>(
        from former: Entries, to newer: Entries, by key: (Entries.Element) -> Key
    ) where Entries.Element: Identifiable<String> & Equatable {
        let before = Dictionary(former.map { (key($0), $0) }) { $1 }
        for entry in newer {
            guard let known = before[key(entry)] else {
                added.append(entry.id)
                continue
            }
            if known != entry { changed.append(entry.id) }
        }
        let now = Set(newer.map(key))
        removed = former.filter { !now.contains(key($0)) }.map(\.id)
    }
}

/// Maps each element and the previous one of the same iterator to an element for the loop.
package struct Compared<Base: AsyncSequence & Sendable, Element: Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable {
    package typealias Failure = Never
    package typealias Comparison = @Sendable (_ newer: Base.Element, _ former: Base.Element?) -> Element
    private let base: Base
    private let compare: Comparison

    package init(_ base: Base, _ compare: @escaping Comparison) {
        self.base = base
        self.compare = compare
    }

    package func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), compare: compare) }

    package struct Iterator: AsyncIteratorProtocol {
        package typealias Failure = Never
        fileprivate var base: Base.AsyncIterator
        fileprivate let compare: Comparison
        private var former: Base.Element?

        fileprivate init(base: Base.AsyncIterator, compare: @escaping Comparison) {
            self.base = base
            self.compare = compare
        }

        package mutating func next() async -> Element? {
            guard let newer = try? await base.next() else { return nil }
            defer { former = newer }
            return compare(newer, former)
        }
    }
}
