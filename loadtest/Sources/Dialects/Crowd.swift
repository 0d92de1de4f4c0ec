/// The participants of a run: subjects, whom others watch, and watchers. Tags number both, subjects first, so that a
/// watcher finds all subjects connected. All ids have the same length, and every run has its own.
struct Crowd {
    let subjects: Int
    let watchers: Int
    private let name = String(UInt64.random(in: 2_176_782_336..<78_364_164_096), radix: 36)

    var total: Int { subjects + watchers }

    /// The beginning of all subjects' ids; five digits follow.
    var subjectPrefix: String { "load-\(name)-p" }

    func subject(_ number: Int) -> String { subjectPrefix + zeroPadded(number, digits: 5) }

    func watcher(_ number: Int) -> String { "load-\(name)-w" + zeroPadded(number, digits: 5) }

    func user(_ tag: Int) -> String { tag < subjects ? subject(tag) : watcher(tag - subjects) }

    /// The number of a subject; `nil` for any other user.
    func number(of user: String) -> Int32? {
        user.hasPrefix(subjectPrefix) ? Int32(user.dropFirst(subjectPrefix.count)) : nil
    }
}
