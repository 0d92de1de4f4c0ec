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
