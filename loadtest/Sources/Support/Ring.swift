/// Numbered people. Each person watches a few others, spread evenly over all of them. Both directions are computed
/// from the numbers, so nothing is stored, and independent processes agree.
struct Ring {
    let total: Int
    /// The distances from a person to the people whom they watch.
    let strides: [Int]

    /// - Parameter watching: how many each watches; fewer than there are people.
    init(total: Int, watching: Int) {
        precondition(watching >= 0 && watching < total, "\(watching) of \(total) people")
        self.total = total
        strides = (0..<watching).map { ($0 + 1) * total / (watching + 1) }
    }

    func watched(by person: Int) -> [Int] { strides.map { (person + $0) % total } }

    func watchers(of person: Int) -> [Int] { strides.map { (person - $0 + total) % total } }

    /// The index of a person in `watched(by:)`; `nil` if they are not in it.
    func place(of person: Int, for watcher: Int) -> Int? {
        strides.firstIndex(of: (person - watcher + total) % total)
    }
}
