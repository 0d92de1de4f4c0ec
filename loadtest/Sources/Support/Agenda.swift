/// A heap of things with their due times; the earliest comes first. Equal times have no order.
struct Agenda<Thing> {
    private var heap: [(due: Instant, thing: Thing)] = []

    /// The due time of the first thing.
    var first: Instant? { heap.first?.due }
    var count: Int { heap.count }

    mutating func add(_ thing: Thing, at due: Instant) {
        heap.append((due, thing))
        var child = heap.count - 1
        while child > 0, heap[child].due < heap[(child - 1) / 2].due {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the first thing if it is due.
    mutating func next(now: Instant) -> (due: Instant, thing: Thing)? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in (2 * parent + 1)..<(2 * parent + 3) where child < heap.count {
                if heap[child].due < heap[least].due { least = child }
            }
            guard least != parent else { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
