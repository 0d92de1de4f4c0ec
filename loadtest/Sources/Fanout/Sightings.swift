/// The newest change of each changer that each watcher has seen: four bytes each.
struct Sightings {
    private let changers: Int
    private var newest: [Int32]

    init(watchers: Int, changers: Int) {
        self.changers = changers
        newest = Array(repeating: 0, count: watchers * changers)
    }

    enum Sighting: Equatable {
        /// Newer than the watcher's; this many changes between were never shown to it.
        case new(conflated: Int)
        /// The same change again.
        case again
        /// Older than the watcher's.
        case older
    }

    mutating func see(_ number: Int, of changer: Int, by watcher: Int) -> Sighting {
        let place = watcher * changers + changer
        let before = Int(newest[place])
        guard number > before else { return number == before ? .again : .older }
        newest[place] = Int32(number)
        return .new(conflated: number - before - 1)
    }

    /// The number of the newest change of `changer` that a watcher has seen.
    func newest(of changer: Int, by watcher: Int) -> Int { Int(newest[watcher * changers + changer]) }

    /// The watchers who do not have this change of `changer`.
    func missing(_ number: Int, of changer: Int) -> [Int] {
        stride(from: changer, to: newest.count, by: changers).enumerated()
            .filter { Int(newest[$0.element]) != number }.map(\.offset)
    }
}
