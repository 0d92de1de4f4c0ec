/// An undirected graph of acquaintances, read from lines of `a b`. Lines that begin with # are comments.
struct Graph {
    /// Each node's neighbours, in increasing order, without repetition.
    private(set) var neighbours: [[Int]] = []

    /// Parses a graph; errors name `file` and the line. Nodes are numbered by their first appearance.
    init(_ text: String, file: String) throws(Failure) {
        var numbers: [Substring: Int] = [:]
        var sets: [Set<Int>] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let names = line.split { $0 == " " || $0 == "\t" }
            guard let first = names.first, !first.hasPrefix("#") else { continue }
            guard names.count == 2 else {
                throw Failure("\(file):\(index + 1): an edge is two names, and here are \(names.count)")
            }
            var ends: [Int] = []
            for name in names {
                let number = numbers[name] ?? sets.count
                if number == sets.count {
                    numbers[name] = number
                    sets.append([])
                }
                ends.append(number)
            }
            guard ends[0] != ends[1] else { continue }
            sets[ends[0]].insert(ends[1])
            sets[ends[1]].insert(ends[0])
        }
        guard !sets.isEmpty else { throw Failure("\(file) holds no edges") }
        neighbours = sets.map { $0.sorted() }
    }

    /// All nodes, breadth first from the one with most edges, so that the first few hundred know each other: people in
    /// a chat form a neighbourhood.
    func neighbourhoodOrder() -> [Int] {
        var order: [Int] = []
        var isTaken = Array(repeating: false, count: neighbours.count)
        for root in neighbours.indices.sorted(by: { isBefore($0, $1) }) where !isTaken[root] {
            var next = order.count
            isTaken[root] = true
            order.append(root)
            while next < order.count {
                for neighbour in neighbours[order[next]] where !isTaken[neighbour] {
                    isTaken[neighbour] = true
                    order.append(neighbour)
                }
                next += 1
            }
        }
        return order
    }

    private func isBefore(_ a: Int, _ b: Int) -> Bool {
        (neighbours[b].count, a) < (neighbours[a].count, b)
    }
}
