/// The known notifications of the user, and the server's counts.
///
/// Counts are replaced only by counts with a larger version. An event may be handled before the reply to the
/// subscription although the server sent it after the reply, so events wait for the reply.
struct HeldNotifications {
    private var items: [Int64: UserNotification] = [:]
    private(set) var version: Int64 = -1
    private var unseen = 0
    private var unread = 0
    /// The last seen notification.
    private var seen: Int64 = 0
    /// The oldest notification that the server stores.
    private var first: Int64 = 1
    /// The newest known notification.
    private var newest: Int64 = 0
    /// Whether the notifications were ever received.
    private(set) var isKnown = false
    /// Whether the current connection's subscription was answered.
    private(set) var isLive = false
    private var early: [Wire.Notified] = []
    /// The limit of waiting events. If it is reached, the list is requested again.
    static let mostEarly = 1_000

    /// There is a new connection, on which nothing was received yet.
    mutating func begin() {
        (isLive, early) = (false, [])
    }

    /// The reply to the subscription is complete; its parts replace all earlier values.
    ///
    /// - Returns: false if events were lost, so that the list must be requested again.
    mutating func answered(_ parts: [Wire.Notified]) -> Bool {
        let told = early
        (isLive, isKnown, early) = (true, true, [])
        (items, version, newest) = ([:], -1, 0)
        for part in parts {
            count(part)
            for item in part.items ?? [] { hold(item) }
        }
        // Several events may have the same version.
        let answered = version
        for event in told where event.version > answered { apply(event) }
        return told.count < Self.mostEarly
    }

    /// Handles an event.
    mutating func heard(_ event: Wire.Notified) {
        guard isLive else {
            if early.count < Self.mostEarly { early.append(event) }
            return
        }
        apply(event)
    }

    private mutating func apply(_ event: Wire.Notified) {
        for seq in event.read ?? [] { items[seq]?.isRead = true }
        for seq in (event.archived ?? []) + (event.replaces ?? []) { items[seq] = nil }
        if let kept = event.kept {
            let kept = Set(kept)
            items = items.filter { kept.contains($0.key) }
        }
        if let item = event.notification { hold(item) }
        count(event)
    }

    /// The server has accepted marks and returned the new counts.
    mutating func marked(_ marks: Ask.NotificationMarks, _ counts: Wire.Notified) {
        var event = counts
        (event.read, event.archived) = (marks.read, marks.archived)
        // A pending reply to the subscription may be older than the marks.
        if !isLive { heard(event) }
        apply(event)
    }

    /// Adds a page of older notifications. Returns false if the page is outdated, because it lacks changes since it was
    /// read.
    mutating func apply(page: Wire.Notified) -> Bool {
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

    // MARK: Values

    /// Whether all notifications up to a number are seen.
    func isSeen(upTo seq: Int64) -> Bool { seq <= seen }

    func isRead(_ seq: Int64) -> Bool { items[seq]?.isRead ?? isGone(seq) }

    /// Whether a notification is known to be archived, replaced or deleted. Notifications older than the oldest known
    /// one are unknown.
    func isGone(_ seq: Int64) -> Bool {
        guard isLive, seq <= newest, items[seq] == nil else { return false }
        return seq < first || oldest.map { seq > $0 } ?? false
    }

    /// The oldest known notification.
    var oldest: Int64? { items.keys.min() }

    var hasEarlier: Bool { first < (oldest ?? newest + 1) }

    /// The inbox as if the server had already accepted these marks.
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
        // Counts and list may be from different moments while a part is pending.
        inbox.unseenCount = max(0, inbox.unseenCount)
        inbox.unreadCount = max(0, inbox.unreadCount)
        return inbox
    }
}
