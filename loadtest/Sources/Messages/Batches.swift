/// Cuts a list into pieces of at most `size`, and reports with each how many elements remain after it.
struct Batches<Element> {
    private var rest: ArraySlice<Element>
    private let size: Int

    init(_ elements: [Element], size: Int) {
        rest = elements[...]
        self.size = max(1, size)
    }

    /// The next piece and the number of remaining elements; none for an empty list.
    mutating func next() -> (piece: [Element], left: Int)? {
        guard !rest.isEmpty else { return nil }
        let piece = Array(rest.prefix(size))
        rest = rest.dropFirst(size)
        return (piece, (rest.count + size - 1) / size)
    }
}
