/// Finds few steps of a history that are enough to break the same rule: delta debugging.
///
/// Ever smaller pieces are left out as long as the rule is still broken without them; then waits are halved.
struct Shrinking {
    private let history: SimulatedHistory
    private let first: Violation
    private let violation: (SimulatedHistory) throws -> Violation?
    /// A history takes some tens of ms.
    private static let mostRuns = 600

    init(
        _ history: SimulatedHistory, _ violation: Violation,
        violation again: @escaping (SimulatedHistory) throws -> Violation?
    ) {
        self.history = history
        first = violation
        self.violation = again
    }

    func smallest() throws -> (SimulatedHistory, Violation) {
        var best = history
        var last = first
        var runs = 0

        func isEnough(_ steps: [Step]) throws -> Bool {
            guard runs < Self.mostRuns else { return false }
            runs += 1
            var smaller = best
            smaller.steps = steps
            guard let found = try violation(smaller), found.rule == first.rule else { return false }
            best = smaller
            last = found
            return true
        }

        var size = max(1, best.steps.count / 2)
        while true {
            var removed = false
            var start = 0
            while start < best.steps.count {
                var steps = best.steps
                steps.removeSubrange(start..<min(start + size, steps.count))
                if try isEnough(steps) { removed = true } else { start += size }
            }
            if size == 1, !removed { break }
            if !removed || size > best.steps.count { size = max(1, size / 2) }
            if runs >= Self.mostRuns { break }
        }
        for index in best.steps.indices {
            while case .wait(let ms) = best.steps[index], ms > 1 {
                var steps = best.steps
                steps[index] = .wait(ms / 2)
                guard try isEnough(steps) else { break }
            }
        }
        return (best, last)
    }
}
