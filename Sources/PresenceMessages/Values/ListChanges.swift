/// What is different in a list from what the same loop got before, by the ids of its entries, in the order of the list.
public struct ListChanges: Codable, Hashable, Sendable {
    /// Those that were not there before: in a loop's first element, all.
    public var added: [String] = []
    /// Those that are shown differently.
    public var changed: [String] = []
    /// Those that are not there any more.
    public var removed: [String] = []

    /// Makes changes, as a fake or a preview needs them; by default there are none.
    public init(added: [String] = [], changed: [String] = [], removed: [String] = []) {
        self.added = added
        self.changed = changed
        self.removed = removed
    }

    /// Whether nothing is different.
    public var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }

    /// What is different between two lists.
    ///
    /// - Parameter key: what makes two entries the same one.
    init<Entry: Identifiable & Equatable, Key: Hashable>(
        from former: [Entry], to newer: [Entry], by key: (Entry) -> Key
    ) where Entry.ID == String {
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

/// Makes of each element and the one before it, of the same iterator, what a loop gets.
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
