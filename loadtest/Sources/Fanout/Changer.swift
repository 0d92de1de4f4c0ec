/// One person who changes: the changes that they made, numbered from 1, and when each was meant to be sent.
struct Changer {
    let user: String
    var connection: ConnectionID?
    /// When change `n` was meant to be sent, at `n - 1`.
    private(set) var intended: [Instant] = []
    /// Watchers who do not have the newest change yet.
    private(set) var awaited = 0

    init(user: String) { self.user = user }

    /// How many changes were made; the newest one's number.
    var newest: Int { intended.count }

    /// Makes the next change, which so many watchers are to get, and returns its number.
    mutating func change(intended instant: Instant, watchers: Int) -> Int {
        intended.append(instant)
        awaited = watchers
        return newest
    }

    /// A watcher has the newest change.
    mutating func reached() { awaited -= 1 }
}
