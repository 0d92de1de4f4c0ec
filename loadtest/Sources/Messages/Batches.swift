/// Cuts a list into pieces of at most `size`, and tells with each how many are left after it.
struct Batches<Element> {
    private var rest: ArraySlice<Element>
    private let size: Int

    init(_ elements: [Element], size: Int) {
        rest = elements[...]
        self.size = max(1, size)
    }

    /// The next piece and how many follow; of an empty list there is none.
    mutating func next() -> (piece: [Element], left: Int)? {
        guard !rest.isEmpty else { return nil }
        let piece = Array(rest.prefix(size))
        rest = rest.dropFirst(size)
        return (piece, (rest.count + size - 1) / size)
    }
}
