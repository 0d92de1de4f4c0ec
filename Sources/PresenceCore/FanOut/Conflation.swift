/// A connection that cannot take more, or that is in the background, keeps the numbers of the topics that changed, each
/// once: it later gets only the newest of each.
extension Line {
    /// Up to here looking for a topic costs less than merging later.
    static let searched = 32

    /// Adds a change to what is kept; returns how many older ones it replaces.
    mutating func keep(_ topic: UInt32, _ marks: Marks, _ merger: inout KeptMerger) -> Int {
        if kept.count > Self.searched {
            var replaced = 0
            // Merged whenever it would have to grow, so that it grows only if half of it is needed: each change costs
            // the same on average, however long the list is, and the list is at most twice as long as it need be.
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

    /// An array that has been long is given back: most connections never need it again.
    mutating func clearKept() {
        kept.removeAll(keepingCapacity: kept.capacity <= 32)
    }
}

/// Brings the entries of one topic together, in time that grows with the list and not with its square.
struct KeptMerger {
    /// By topic.
    private var met: [Met] = []
    private var merging: UInt32 = 0
    /// Entries that were looked at, for tests.
    private(set) var steps = 0

    /// Each topic is there once afterwards, in its oldest place; returns how many marks were there twice.
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
                note(entry.topic, at: count)
                kept[count] = entry
                count += 1
            }
        }
        kept.removeSubrange(count...)
        return replaced
    }

    /// Which merging met a topic last, and where its entry stands.
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

    private mutating func note(_ topic: UInt32, at place: Int) {
        if met.count <= Int(topic) {
            met.append(contentsOf: repeatElement(Met(), count: Int(topic) + 1 - met.count))
        }
        met[Int(topic)] = Met(merging: merging, place: UInt32(place))
    }
}
