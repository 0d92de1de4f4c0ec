/// One changer: their changes, numbered from 1, and when each was due to be sent.
struct Changer {
    let user: String
    var connection: ConnectionID?
    /// The due time of change `n`, at `n - 1`.
    private(set) var intended: [Instant] = []
    /// Watchers who have not received the newest change yet.
    private(set) var awaited = 0

    init(user: String) { self.user = user }

    /// The number of changes, which is the newest one's number.
    var newest: Int { intended.count }

    /// Makes the next change for this many watchers, and returns its number.
    mutating func change(intended instant: Instant, watchers: Int) -> Int {
        intended.append(instant)
        awaited = watchers
        return newest
    }

    /// Records that a watcher has the newest change.
    mutating func reached() { awaited -= 1 }
}
