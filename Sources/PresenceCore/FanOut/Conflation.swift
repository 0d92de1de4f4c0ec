/// A connection that accepts no more data, or is in the background, keeps the numbers of changed topics, each once.
/// Later it gets only the newest state of each.
extension Line {
    /// Up to this length, searching for a topic costs less than merging later.
    static let searched = 32

    /// Adds a change to the kept ones; returns the number of older changes that it replaces.
    mutating func keep(_ topic: UInt32, _ marks: Marks, _ merger: inout KeptMerger) -> Int {
        if kept.count > Self.searched {
            var replaced = 0
            // Merged before it would have to grow, so that it grows only if at least half of its capacity is needed. The
            // average cost of a change does not depend on the length of the list, and the list is at most twice as long as
            // necessary.
            if kept.count == kept.capacity {
                replaced = merger.merge(&kept)
                if kept.count > kept.capacity / 2 { kept.reserveCapacity(2 * kept.count) }
            }
            kept.append(Kept(topic: topic, marks: marks))
            return replaced
        }
        guard let place = kept.firstIndex(where: { $0.topic == topic }) else {
            kept.append(Kept(topic: topic, marks: marks))
            return 0
        }
        let replaced = kept[place].marks.intersection(marks)
        kept[place] = Kept(topic: topic, marks: kept[place].marks.union(marks))
        return replaced.rawValue.nonzeroBitCount
    }

    /// Frees an array that was long: most connections never need it again.
    mutating func clearKept() {
        kept.removeAll(keepingCapacity: kept.capacity <= 32)
    }
}

/// Merges the entries of each topic, in time linear in the length of the list.
struct KeptMerger {
    /// By topic.
    private var met: [Met] = []
    private var merging: UInt32 = 0
    /// Entries processed, for tests.
    private(set) var steps = 0

    /// Afterwards each topic occurs once, in its oldest place. Returns the number of marks that occurred twice.
    mutating func merge(_ kept: inout [Line.Kept]) -> Int {
        begin()
        steps += kept.count
        var replaced = 0
        var count = 0
        for index in kept.indices {
            let entry = kept[index]
            if let place = place(of: entry.topic) {
                replaced += kept[place].marks.intersection(entry.marks).rawValue.nonzeroBitCount
                kept[place] = Line.Kept(topic: entry.topic, marks: kept[place].marks.union(entry.marks))
            } else {
                record(entry.topic, at: count)
                kept[count] = entry
                count += 1
            }
        }
        kept.removeSubrange(count...)
        return replaced
    }

    /// The newest merge in which a topic occurred, and the place of its entry.
    private struct Met {
        var merging: UInt32 = 0
        var place: UInt32 = 0
    }

    private mutating func begin() {
        merging &+= 1
        guard merging == 0 else { return }
        met = []
        merging = 1
    }

    private func place(of topic: UInt32) -> Int? {
        guard Int(topic) < met.count, met[Int(topic)].merging == merging else { return nil }
        return Int(met[Int(topic)].place)
    }

    private mutating func record(_ topic: UInt32, at place: Int) {
        if met.count <= Int(topic) {
            met.append(contentsOf: repeatElement(Met(), count: Int(topic) + 1 - met.count))
        }
        met[Int(topic)] = Met(merging: merging, place: UInt32(place))
    }
}
