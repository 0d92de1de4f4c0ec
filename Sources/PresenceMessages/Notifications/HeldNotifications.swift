/// What is held of the user's notifications: those that were told, and the server's counts.
///
/// Of the counts the larger version holds. An event may be taken in before the subscription's answer although it came after
/// it: until the answer is there, events wait.
struct HeldNotifications {
    private var items: [Int64: UserNotification] = [:]
    private(set) var version: Int64 = -1
    private var unseen = 0
    private var unread = 0
    /// Up to which they were seen.
    private var seen: Int64 = 0
    /// The oldest that the server keeps.
    private var first: Int64 = 1
    /// The newest that is known of.
    private var newest: Int64 = 0
    /// Whether it was ever told.
    private(set) var isKnown = false
    /// Whether the present connection's subscription was answered.
    private(set) var isLive = false
    private var early: [Wire.Notified] = []
    /// Events that wait; with more, the list is asked for again.
    static let mostEarly = 1_000

    /// There is another connection: nothing was told on it.
    mutating func begin() {
        (isLive, early) = (false, [])
    }

    /// The subscription is answered, with all its parts: they are what there is.
    ///
    /// - Returns: whether that is all; if not, it has to be asked for again.
    mutating func answered(_ parts: [Wire.Notified]) -> Bool {
        let told = early
        (isLive, isKnown, early) = (true, true, [])
        (items, version, newest) = ([:], -1, 0)
        for part in parts {
            count(part)
            for item in part.items ?? [] { hold(item) }
        }
        // Several events may have one version.
        let answered = version
        for event in told where event.version > answered { take(event) }
        return told.count < Self.mostEarly
    }

    /// An event.
    mutating func heard(_ event: Wire.Notified) {
        guard isLive else {
            if early.count < Self.mostEarly { early.append(event) }
            return
        }
        take(event)
    }

    private mutating func take(_ event: Wire.Notified) {
        for seq in event.read ?? [] { items[seq]?.isRead = true }
        for seq in (event.archived ?? []) + (event.replaces ?? []) { items[seq] = nil }
        if let kept = event.kept {
            let kept = Set(kept)
            items = items.filter { kept.contains($0.key) }
        }
        if let item = event.notification { hold(item) }
        count(event)
    }

    /// The server has taken marks, and says what there is now.
    mutating func marked(_ marks: Ask.NotificationMarks, _ counts: Wire.Notified) {
        var event = counts
        (event.read, event.archived) = (marks.read, marks.archived)
        // The subscription's answer, still to come, may be older than the marks.
        if !isLive { heard(event) }
        take(event)
    }

    /// A page of older ones; whether it could be taken: what has changed since it was read is not in it.
    mutating func take(page: Wire.Notified) -> Bool {
        guard isLive, page.version >= version else { return false }
        count(page)
        for item in page.items ?? [] { hold(item) }
        return true
    }

    private mutating func hold(_ item: Wire.NotificationItem) {
        newest = max(newest, item.seq)
        items[item.seq] = UserNotification(item)
    }

    private mutating func count(_ told: Wire.Notified) {
        guard told.version > version else { return }
        (version, unseen, unread) = (told.version, told.unseen, told.unread)
        seen = told.seen ?? seen
        first = told.first ?? first
        items = items.filter { $0.key >= first }
    }

    // MARK: What is shown

    /// Whether all up to a number were seen.
    func isSeen(upTo seq: Int64) -> Bool { seq <= seen }

    func isRead(_ seq: Int64) -> Bool { items[seq]?.isRead ?? isGone(seq) }

    /// Whether one is known to be archived, replaced or no longer kept: of those before the oldest that is held, nothing is
    /// known.
    func isGone(_ seq: Int64) -> Bool {
        guard isLive, seq <= newest, items[seq] == nil else { return false }
        return seq < first || oldest.map { seq > $0 } ?? false
    }

    /// The oldest that is held.
    var oldest: Int64? { items.keys.min() }

    var hasEarlier: Bool { first < (oldest ?? newest + 1) }

    /// What there is, as if the server knew these marks already.
    func inbox(over waiting: [Ask.NotificationMarks]) -> NotificationInbox {
        let alsoSeen = max(seen, waiting.compactMap(\.seen).max() ?? 0)
        let read = Set(waiting.flatMap { $0.read ?? [] })
        let archived = Set(waiting.flatMap { $0.archived ?? [] })
        var inbox = NotificationInbox(unseenCount: unseen, unreadCount: unread, hasEarlier: hasEarlier)
        for seq in items.keys.sorted(by: >) {
            var item = items[seq]!
            let isGone = archived.contains(seq)
            if seq > seen, isGone || seq <= alsoSeen { inbox.unseenCount -= 1 }
            if !item.isRead, isGone || read.contains(seq) { inbox.unreadCount -= 1 }
            guard !isGone else { continue }
            item.isSeen = seq <= alsoSeen
            item.isRead = item.isRead || read.contains(seq)
            inbox.notifications.append(item)
        }
        // Counts and list may be of different moments while a part is under way.
        inbox.unseenCount = max(0, inbox.unseenCount)
        inbox.unreadCount = max(0, inbox.unreadCount)
        return inbox
    }
}
