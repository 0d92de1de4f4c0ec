/// Numbered people; each watches a few others, spread evenly over all of them: whom, and who watches somebody,
/// follows from the numbers, so that nothing is kept, and processes that know nothing of each other agree.
struct Ring {
    let total: Int
    /// How far on those are whom somebody watches.
    let strides: [Int]

    /// - Parameter watching: how many each watches; fewer than there are people.
    init(total: Int, watching: Int) {
        precondition(watching >= 0 && watching < total, "\(watching) of \(total) people")
        self.total = total
        strides = (0..<watching).map { ($0 + 1) * total / (watching + 1) }
    }

    func watched(by person: Int) -> [Int] { strides.map { (person + $0) % total } }

    func watchers(of person: Int) -> [Int] { strides.map { (person - $0 + total) % total } }

    /// Where in `watched(by:)` somebody is; `nil` if they are not.
    func place(of person: Int, for watcher: Int) -> Int? {
        strides.firstIndex(of: (person - watcher + total) % total)
    }
}
