import PresenceProtocol

/// How often a connection receives conversations with very many members (16 KB a second), or with a long newest message
/// (64 KB a second), because each rename, mark and setting sends them again. The first change is sent at once.
///
/// A conversation with 300 members is sent every 1.1 s at most, one with 1,000 every 4 s: each member receives less
/// than 16 KB a second of it, however much they write and mark. Connections that watch its messages still receive them
/// at once.
struct CrowdPace {
    /// A conversation whose record is kept until its turn and shared by all connections that wait for it.
    struct Crowd {
        let record: ConversationRecord
        let at: Timestamp

        /// `nil` for few members and a short newest message.
        init?(_ record: ConversationRecord, at: Timestamp) {
            guard record.members.count > CrowdPace.few || record.isPartial else { return nil }
            (self.record, self.at) = (record, at)
        }

        /// The approximate size of its frame.
        var size: Int { record.members.count * 64 }

        /// Bytes per ms.
        fileprivate var rate: Int { record.members.count > CrowdPace.few ? 16 : 64 }
    }

    static let few = 100
    /// Assumed size, in bytes, of a conversation that must be read first, because its newest message is too long for an
    /// event (4 KiB).
    static let unread = 32_768

    private var due: Milliseconds = 0
    private var isWaiting = false

    mutating func isDue(at now: Milliseconds) -> Bool {
        guard now >= due else { return false }
        isWaiting = false
        return true
    }

    /// When it is due; `nil` if a deadline is set already.
    mutating func wait() -> Milliseconds? {
        guard !isWaiting else { return nil }
        isWaiting = true
        return due
    }

    mutating func record(_ crowd: Crowd, _ bytes: Int, at now: Milliseconds) {
        due = max(due, now) + Milliseconds(bytes / crowd.rate)
    }
}
