import PresenceProtocol

/// Where a queue is looked at next.
///
/// Events of a subject that can use no more are passed over, and the place of the first of them is kept. When nothing of the
/// subject is held any more, it is looked at from there, for this subject alone; no other look takes events of it before. So the
/// order of a subject's events stays, and what was passed over is not read again for other subjects.
struct QueueLooks {
    /// A row of the queue: its time, and the event's id for rows of the same time.
    struct Row: Comparable {
        let due: Double
        var id = ""

        static let first = Row(due: -.infinity)
        static let end = Row(due: .infinity)

        static func < (a: Row, b: Row) -> Bool { (a.due, a.id) < (b.due, b.id) }
    }

    /// All rows before it are of passed subjects.
    private var next = Row.first
    /// By subject: no row of it before this one.
    private var passed: [String: Row] = [:]
    /// Whether a look is under way, and whether it counts.
    private var (isLooking, counts) = (false, true)

    /// All rows are looked at again. A look that is under way has passed over what is now to be found.
    mutating func restart() { (next, passed, counts) = (.first, [:], !isLooking) }

    /// Subjects that only looks of their own take events of.
    var subjects: [String] { Array(passed.keys) }

    /// The subject whose passed row is the earliest, of those that can have more.
    func subject(where canHaveMore: (String) -> Bool) -> String? {
        passed.filter { canHaveMore($0.key) }.min { ($0.value, $0.key) < ($1.value, $1.key) }?.key
    }

    /// Begins a look. Rows that are added meanwhile, before its end, are looked at next.
    ///
    /// - Parameter subject: The one of which it takes events; `nil`: all others.
    mutating func begin(of subject: String?) -> Row {
        isLooking = true
        guard let subject else {
            defer { next = .end }
            return next
        }
        return passed.updateValue(.end, forKey: subject) ?? .first
    }

    /// - Parameters:
    ///   - row: The first row that the look did not reach.
    ///   - isAll: Whether no row behind it is due.
    ///   - others: Subjects that were passed over, each with its first row in the look. A look of one subject passes over all others.
    mutating func ended(of subject: String?, before row: Row, isAll: Bool, passing others: [String: Row]) {
        defer { (isLooking, counts) = (false, true) }
        guard counts else { return }
        if let subject {
            let found = min(passed[subject] ?? .end, isAll ? .end : row)
            passed[subject] = found == .end ? nil : found
        } else {
            for (other, first) in others { passed[other] = min(passed[other] ?? first, first) }
            next = min(next, row)
        }
        if passed.isEmpty { next = .first }
    }

    /// A row has been added: of this subject, or of any.
    mutating func added(due: Double, of subject: String? = nil) {
        let row = Row(due: due)
        if let subject, let first = passed[subject] {
            passed[subject] = min(first, row)
        } else {
            next = min(next, row)
        }
    }
}
