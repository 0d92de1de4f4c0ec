import DequeModule

/// What waits, in its order, each with a number by which it can be taken out.
///
/// Numbers ascend, so one is found by halving, and a place that is taken out stays empty until it comes to the front or half
/// of the places are empty. So each operation costs little however many wait, and there are never more empty places than
/// full ones (beside a few).
package struct NumberedQueue<Element> {
    private struct Place {
        let number: UInt64
        var element: Element?
    }

    private var places = Deque<Place>()
    private var lastNumber: UInt64 = 0
    /// Those that wait.
    package private(set) var count = 0
    /// Places looked at or moved so far, for tests of what it costs.
    package private(set) var steps = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Returns its number, which no other of this queue ever has.
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

    /// `nil` if it does not wait any more.
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

    /// Takes out those that are so, in their order.
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

    /// A walk over all places follows on at least half as many removals.
    private mutating func tidy() {
        guard places.count > 2 * count + 16 else { return }
        steps += places.count
        places.removeAll { $0.element == nil }
    }
}
