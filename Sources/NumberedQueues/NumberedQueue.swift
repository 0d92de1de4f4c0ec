import DequeModule

/// A queue in which each element has a number, by which it can be removed.
///
/// Numbers ascend, so a binary search finds each element. A removed element leaves an empty place. Empty places are
/// removed when they reach the front, or when half of all places are empty. So each operation is cheap at any length,
/// and apart from a few, there are never more empty places than full ones.
package struct NumberedQueue<Element> {
    private struct Place {
        let number: UInt64
        var element: Element?
    }

    private var places = Deque<Place>()
    private var lastNumber: UInt64 = 0
    /// The number of waiting elements.
    package private(set) var count = 0
    /// Places visited or moved so far, for tests of the cost.
    package private(set) var steps = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Returns the element's number, which this queue never uses again.
    package mutating func append(_ make: (UInt64) -> Element) -> UInt64 {
        lastNumber += 1
        places.append(Place(number: lastNumber, element: make(lastNumber)))
        count += 1
        return lastNumber
    }

    package mutating func popFirst() -> Element? {
        while let first = places.popFirst() {
            steps += 1
            guard let element = first.element else { continue }
            count -= 1
            return element
        }
        return nil
    }

    /// `nil` if the element no longer waits.
    package mutating func remove(_ number: UInt64) -> Element? {
        var (low, high) = (0, places.count)
        while low < high {
            steps += 1
            let middle = (low + high) / 2
            if places[middle].number < number { low = middle + 1 } else { high = middle }
        }
        guard low < places.count, places[low].number == number, let element = places[low].element else { return nil }
        places[low].element = nil
        count -= 1
        tidy()
        return element
    }

    /// Removes and returns the matching elements, in order.
    package mutating func removeAll(where isWanted: (Element) -> Bool = { _ in true }) -> [Element] {
        var removed: [Element] = []
        for index in places.indices {
            guard let element = places[index].element, isWanted(element) else { continue }
            places[index].element = nil
            removed.append(element)
        }
        count -= removed.count
        tidy()
        return removed
    }

    package func forEach(_ body: (Element) -> Void) {
        for place in places { if let element = place.element { body(element) } }
    }

    /// Each walk over all places follows at least half as many removals.
    private mutating func tidy() {
        guard places.count > 2 * count + 16 else { return }
        steps += places.count
        places.removeAll { $0.element == nil }
    }
}
