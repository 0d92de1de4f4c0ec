/// Who takes part in a run: subjects, whom others watch, and watchers. Tags count both through, subjects first, so that
/// a watcher finds everyone there. All ids have the same length, and every run has its own.
struct Crowd {
    let subjects: Int
    let watchers: Int
    private let name = String(UInt64.random(in: 2_176_782_336..<78_364_164_096), radix: 36)

    var total: Int { subjects + watchers }

    /// What the ids of all subjects begin with; five digits follow.
    var subjectPrefix: String { "load-\(name)-p" }

    func subject(_ number: Int) -> String { subjectPrefix + zeroPadded(number, digits: 5) }

    func watcher(_ number: Int) -> String { "load-\(name)-w" + zeroPadded(number, digits: 5) }

    func user(_ tag: Int) -> String { tag < subjects ? subject(tag) : watcher(tag - subjects) }

    /// The number of a subject; `nil` of anybody else.
    func number(of user: String) -> Int32? {
        user.hasPrefix(subjectPrefix) ? Int32(user.dropFirst(subjectPrefix.count)) : nil
    }
}
