import PresenceProtocol
import Redis

/// A conversation as Redis has it (`Scripts/conversation-lib.lua`).
struct ConversationRecord {
    struct Member {
        let user: UserID
        /// The place in the order of joining.
        let joined: Int64
        /// The newest message that the member has read, and the newest that others see as read.
        let read: Int64
        let shown: Int64
        let delivered: Int64
        /// The newest message that the member wrote.
        let own: Int64
        /// The version of the part that only the member sees.
        let version: Int64
        /// The end of the mute; 0: not muted, -1: until the member unmutes the conversation.
        let muted: Timestamp
        let archived: Timestamp
        let hidesReceipts: Bool
        /// Whether a stranger began the conversation, and the member has not answered yet.
        fileprivate(set) var isAsked = false

        init?(_ user: UserID, _ value: String) {
            let words = value.split(separator: " ")
            let numbers = words.compactMap { Int64($0) }
            // All but the letter are numbers.
            guard words.count == 10, numbers.count == 9 else { return nil }
            self.user = user
            (joined, read, shown, delivered, own) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
            (version, muted, archived) = (numbers[5], numbers[6], numbers[7])
            hidesReceipts = words[8] == "n"
        }
    }

    let id: ConversationID
    private(set) var isDirect = false
    private(set) var createdAt: Timestamp = 0
    private(set) var owner: UserID?
    /// JSON; `metadata` is JSON too.
    private(set) var name: [UInt8]?
    private(set) var metadata: [UInt8]?
    private(set) var first: Int64 = 1
    private(set) var last: Int64 = 0
    /// The number of the last change of its messages.
    private(set) var changes: Int64 = 0
    private(set) var message: StoredMessage?
    private(set) var priority: [Int64] = []
    /// The numbers of deleted messages that some member has not read.
    private var deleted: [ClosedRange<Int64>] = []
    /// Members whose deliveries are hidden from other members.
    private var hidden: [UserID: HiddenDelivery] = [:]
    /// The member who has not answered yet the stranger who began it; with a `?` until that is known.
    private var request = ""
    /// The version of the part that all members see.
    private(set) var version: Int64 = 0
    /// In the order of joining.
    private(set) var members: [Member] = []
    /// In an event: users who have just left.
    private(set) var left: [UserID] = []
    /// In an event: users who have just joined. They receive the conversation later, once their inbox has it.
    private(set) var joining: [UserID] = []
    /// In an event: the only members who receive it; empty: all members do.
    private(set) var only: [UserID] = []
    /// In an event: its newest message, or the list of deleted ones, was too long to be included, so the record must be
    /// read.
    private(set) var isPartial = false

    /// From the fields and values of the hash; `nil` if there is no conversation.
    init?(_ id: ConversationID, fields: ArraySlice<RedisValue>) {
        guard !fields.isEmpty else { return nil }
        self.id = id
        var index = fields.startIndex
        while index + 1 < fields.endIndex {
            if let field = fields[index].string, let value = fields[index + 1].bytes { set(field[...], value[...]) }
            index += 2
        }
        finish()
    }

    init?(_ id: ConversationID, _ value: RedisValue) { self.init(id, fields: (value.array ?? [])[...]) }

    /// From an event: "FIELD VALUE" on each line.
    init(_ id: ConversationID, lines: UnsafeRawBufferPointer) {
        self.id = id
        for line in Array(lines).split(separator: 0x0A) {
            guard let space = line.firstIndex(of: 0x20) else { continue }
            set(Substring(decoding: line[..<space], as: UTF8.self), line[(space + 1)...])
        }
        finish()
    }

    private mutating func finish() {
        members.sort { $0.joined < $1.joined }
        guard !request.isEmpty else { return }
        for place in members.indices { members[place].isAsked = members[place].user.string == request }
    }

    /// Whether an event concerns a user for whom `isWanted` is true: a member, or a user who has just left.
    static func concerns(_ lines: UnsafeRawBufferPointer, _ isWanted: (UserID) -> Bool) -> Bool {
        lines.split(separator: 0x0A).contains { line in
            let rest = line.starts(with: "m:".utf8) ? line.dropFirst(2) : line.dropFirst(5)
            guard rest.startIndex == line.startIndex + 2 || line.starts(with: "left ".utf8) else { return false }
            return UserID(String(decoding: rest.prefix { $0 != 0x20 }, as: UTF8.self)).map(isWanted) ?? false
        }
    }

    private mutating func set(_ field: Substring, _ value: ArraySlice<UInt8>) {
        func text() -> String { String(decoding: value, as: UTF8.self) }
        func number() -> Int64 { Int64(text()) ?? 0 }
        switch field {
        case "kind": isDirect = text() == "direct"
        case "createdAt": createdAt = number()
        case "owner": owner = UserID(text())
        case "name": name = Array(value)
        case "metadata": metadata = Array(value)
        case "first": first = number()
        case "last": last = number()
        case "changes": changes = number()
        case "message": message = StoredMessage(value)
        case "priority": priority = text().split(separator: " ").compactMap { Int64($0) }
        case "request": request = text()
        case "version": version = number()
        case "deleted": deleted = text().split(separator: " ").compactMap(Self.range)
        case "partly": isPartial = true
        case "left": if let user = UserID(text()) { left.append(user) }
        case "new": if let user = UserID(text()) { joining.append(user) }
        case "only": if let user = UserID(text()) { only.append(user) }
        default:
            guard let user = UserID(String(field.dropFirst(2))) else { return }
            if field.hasPrefix("h:") { hidden[user] = HiddenDelivery(text()) }
            guard field.hasPrefix("m:"), let member = Member(user, text()) else { return }
            members.append(member)
        }
    }

    private static func range(_ text: Substring) -> ClosedRange<Int64>? {
        let ends = text.split(separator: "-").compactMap { Int64($0) }
        guard let low = ends.first, let high = ends.last, low <= high else { return nil }
        return low...high
    }

    /// The number of messages that a member has not read: those after their mark and after their own newest message,
    /// without deleted ones.
    func unread(by member: Member) -> Int64 {
        let seen = max(member.read, member.own)
        let gone = deleted.reduce(0) { $0 + max(0, $1.upperBound - max($1.lowerBound - 1, seen)) }
        return max(0, last - seen - gone)
    }

    /// The newest message up to which everything has reached a member's devices, as far as a viewer may know. A message
    /// that the member has shown as read counts as delivered, even if one of both hides receipts later.
    func delivered(_ member: Member, for viewer: UserID) -> Int64 {
        guard member.user != viewer, let shown = hidden[member.user]?.shown(to: viewer) else { return member.delivered }
        return min(member.delivered, max(shown, member.shown))
    }

    /// Whether this member receives this event.
    func isTold(to user: UserID) -> Bool { !joining.contains(user) && (only.isEmpty || only.contains(user)) }

    /// Whether the member may have to answer it as a request.
    func isRequest(to member: Member) -> Bool { member.isAsked || request == member.user.string + " ?" }

    func member(_ user: UserID) -> Member? { members.first { $0.user == user } }

    /// The version of what a member sees.
    ///
    /// - Parameter now: by Redis' clock.
    func version(for viewer: UserID, at now: Timestamp) -> Int64 {
        member(viewer).map { version(for: $0, at: now) } ?? version
    }

    func version(for own: Member, at now: Timestamp) -> Int64 {
        let newest = max(version, own.version)
        return hasLapsed(own, at: now) ? max(newest, own.muted) + 1 : newest
    }

    func isMuted(_ own: Member, at now: Timestamp) -> Bool {
        own.muted < 0 || (own.muted > 0 && !hasLapsed(own, at: now))
    }

    /// A timed mute ends without a write, although the member sees a change. So that change has a version above all
    /// earlier ones and not below the end of the mute, and all later changes exceed it (`conversation-lib.lua`).
    /// Versions alone do not show whether the time has come, because Redis' clock may have gone back.
    private func hasLapsed(_ own: Member, at now: Timestamp) -> Bool {
        own.muted > 0 && own.muted < now - Self.lapseMargin
    }

    /// A shard's estimate of Redis' clock may be some ms ahead. A mute that the shard takes as over must be over in
    /// Redis too: otherwise a change could get an older version than one that was sent.
    static let lapseMargin: Milliseconds = 1_000

    /// The sort key of lists, newest first.
    var newest: Timestamp { message?.at ?? createdAt }
}
