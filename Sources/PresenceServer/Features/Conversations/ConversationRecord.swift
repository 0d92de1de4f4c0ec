import PresenceProtocol
import Redis

/// A conversation as Redis has it (`Scripts/conversation-lib.lua`).
struct ConversationRecord {
    struct Member {
        let user: UserID
        /// The place in the order of joining.
        let joined: Int64
        /// The newest message that they have read, and the newest of which others see that they have.
        let read: Int64
        let shown: Int64
        let delivered: Int64
        /// The newest message that they wrote.
        let own: Int64
        /// Of what they alone see.
        let version: Int64
        /// Until when; 0: not, -1: until they take it back.
        let muted: Timestamp
        let archived: Timestamp
        let hidesReceipts: Bool

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
    /// Both as JSON.
    private(set) var name: [UInt8]?
    private(set) var metadata: [UInt8]?
    private(set) var first: Int64 = 1
    private(set) var last: Int64 = 0
    /// The number of the last change of its messages.
    private(set) var changes: Int64 = 0
    private(set) var message: StoredMessage?
    private(set) var priority: [Int64] = []
    /// The numbers of deleted messages, of those that some member has not read.
    private var deleted: [ClosedRange<Int64>] = []
    /// Members whose deliveries are hidden from others.
    private var hidden: [UserID: HiddenDelivery] = [:]
    /// Of what all members see.
    private(set) var version: Int64 = 0
    /// In the order of their joining.
    private(set) var members: [Member] = []
    /// Those who are no longer in it, if this is what a change has told.
    private(set) var left: [UserID] = []
    /// Those who have just joined, and hear of it later, if this is what a change has told.
    private(set) var joining: [UserID] = []
    /// Whom alone it is told to; empty: to all members.
    private(set) var only: [UserID] = []
    /// Its newest message was too long to be told with a change: it has to be read.
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
        members.sort { $0.joined < $1.joined }
    }

    init?(_ id: ConversationID, _ value: RedisValue) { self.init(id, fields: (value.array ?? [])[...]) }

    /// From an event: "FIELD VALUE" on each line.
    init(_ id: ConversationID, lines: UnsafeRawBufferPointer) {
        self.id = id
        for line in Array(lines).split(separator: 0x0A) {
            guard let space = line.firstIndex(of: 0x20) else { continue }
            set(Substring(decoding: line[..<space], as: UTF8.self), line[(space + 1)...])
        }
        members.sort { $0.joined < $1.joined }
    }

    /// Whether an event is about somebody whom `isWanted` says: a member, or somebody who was one.
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

    /// How many messages a member has not read: those after what they have read, and after their own newest, that are not deleted.
    func unread(by member: Member) -> Int64 {
        let seen = max(member.read, member.own)
        let gone = deleted.reduce(0) { $0 + max(0, $1.upperBound - max($1.lowerBound - 1, seen)) }
        return max(0, last - seen - gone)
    }

    /// Up to which message all has come to a member's devices, as far as a viewer may know. What the member has shown to have read
    /// has come; that holds on where one of both hides later what they read.
    func delivered(_ member: Member, for viewer: UserID) -> Int64 {
        guard member.user != viewer, let shown = hidden[member.user]?.shown(to: viewer) else { return member.delivered }
        return min(member.delivered, max(shown, member.shown))
    }

    /// Whether a change is told to this member.
    func isTold(to user: UserID) -> Bool { !joining.contains(user) && (only.isEmpty || only.contains(user)) }

    func member(_ user: UserID) -> Member? { members.first { $0.user == user } }

    /// The version of what a member sees.
    ///
    /// - Parameter now: By Redis' clock.
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

    /// The end of a mute is a change of what a member sees that nobody makes: its version is past all that there were, and not before
    /// its time, and all later changes go past it (`conversation-lib.lua`). The versions themselves say nothing of the time: Redis'
    /// clock may have gone back.
    private func hasLapsed(_ own: Member, at now: Timestamp) -> Bool {
        own.muted > 0 && own.muted < now - Self.lapseMargin
    }

    /// A shard's idea of Redis' clock may be ahead of it by some ms. What it says to be over must be over there too: else a
    /// change could get an older version than what was told.
    static let lapseMargin: Milliseconds = 1_000

    /// By what a list is ordered, newest first.
    var newest: Timestamp { message?.at ?? createdAt }
}
