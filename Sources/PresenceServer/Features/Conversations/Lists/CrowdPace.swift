import PresenceProtocol

/// How often a connection is told of conversations with very many members (16 KB a second), or with a long newest message (64 KB
/// a second), which each rename, mark and setting tells again. The first time it is told at once.
///
/// One with 300 members comes every 1.1 s then at most, one with 1,000 every 4 s: what is told of it to all of its members stays
/// below 16 KB a second for each, however much they write and mark. Messages come at once all the same, to those who watch them.
struct CrowdPace {
    /// A conversation whose record is kept until its turn and shared by all connections that wait for it.
    struct Crowd {
        let record: ConversationRecord
        let at: Timestamp

        /// `nil` for few members and a short message.
        init?(_ record: ConversationRecord, at: Timestamp) {
            guard record.members.count > CrowdPace.few || record.isPartial else { return nil }
            (self.record, self.at) = (record, at)
        }

        /// About what its frame takes.
        var size: Int { record.members.count * 64 }

        /// Bytes a ms.
        fileprivate var rate: Int { record.members.count > CrowdPace.few ? 16 : 64 }
    }

    static let few = 100
    /// Bytes, about what is told of one that has to be read first, because its newest message is too long for an event (4 KiB).
    static let unread = 32_768

    private var due: Milliseconds = 0
    private var isWaiting = false

    mutating func isDue(at now: Milliseconds) -> Bool {
        guard now >= due else { return false }
        isWaiting = false
        return true
    }

    /// When it is due, if that is not waited for yet.
    mutating func wait() -> Milliseconds? {
        guard !isWaiting else { return nil }
        isWaiting = true
        return due
    }

    mutating func told(_ crowd: Crowd, _ bytes: Int, at now: Milliseconds) {
        due = max(due, now) + Milliseconds(bytes / crowd.rate)
    }
}
