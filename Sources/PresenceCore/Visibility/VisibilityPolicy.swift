import PresenceProtocol
import Redis

/// One user's policy as stored in Redis: the settings and the lists.
///
/// A list is in memory only while it is needed for decisions, and is `nil` if it has not been read. A decision that
/// needs a missing list denies access.
package final class VisibilityPolicy {
    package let user: UserID
    package private(set) var head = PolicyHead()
    package private(set) var contacts: Set<UserID>?
    package private(set) var blocks: Set<UserID>?
    /// Its lists are being read.
    var isReading = false
    /// A user was charged for the next read of the lists.
    var isPaidFor = false
    /// When the lists were last requested.
    var lastReading: Milliseconds?
    /// Callers awaiting lists.
    var waiters: [(Topic.RedisOutcome) -> Void] = []

    /// - Parameter isNew: Redis is known to have no visibility settings of the user yet, so both lists are empty.
    init(of user: UserID, isNew: Bool) {
        self.user = user
        contacts = isNew ? [] : nil
        blocks = isNew ? [] : nil
    }

    /// The part of a user that a viewer may see.
    package enum View {
        case whole
        /// An offline user looks as if their presence were unknown: `since` and the version would reveal when they
        /// left, as `lastSeen` does.
        case withoutLastSeen
        /// The user looks like an unknown one.
        case nothing
    }

    /// The view that this user's policy gives a viewer, whatever the viewer's own policy: nothing if the record is
    /// damaged.
    package func view(for viewer: UserID) -> View {
        guard !head.isDamaged, let blocks, !blocks.contains(viewer), admits(viewer, head.visibility.presence) else {
            return .nothing
        }
        return admits(viewer, head.visibility.lastSeen) ? .whole : .withoutLastSeen
    }

    private func admits(_ viewer: UserID, _ audience: Audience) -> Bool {
        switch audience {
        case .everyone: true
        case .contacts: contacts?.contains(viewer) == true
        case .nobody: false
        }
    }

    /// Whether all lists needed for decisions are in memory.
    var isComplete: Bool { blocks != nil && (contacts != nil || !needsContacts) }

    /// The number of ids in memory.
    var listed: Int { (contacts?.count ?? 0) + (blocks?.count ?? 0) }

    private var needsContacts: Bool { head.visibility.presence == .contacts || head.visibility.lastSeen == .contacts }

    // MARK: Reports of Redis

    /// Applies a newer state without its lists.
    package func apply(_ head: PolicyHead) {
        self.head = head
        contacts = head.contacts == 0 && !head.isDamaged ? [] : nil
        blocks = head.blocks == 0 && !head.isDamaged ? [] : nil
    }

    /// Applies a change to the next version.
    func apply(_ change: PolicyChange) {
        head = change.head
        contacts = Self.list(contacts, change.list == .contacts ? change : nil, count: head.contacts)
        blocks = Self.list(blocks, change.list == .blocks ? change : nil, count: head.blocks)
        if !needsContacts, head.contacts > 0 { contacts = nil }
    }

    /// Applies a state that was read.
    package func apply(_ read: PolicyRead) {
        head = read.head
        contacts = needsContacts || head.contacts == 0 ? Set(read.contacts) : nil
        blocks = Set(read.blocks)
    }

    /// The users concerned by the next change; `nil` if it may be any.
    func concerned(by change: PolicyChange) -> [UserID]? {
        // While the lists are unknown, so are the users concerned by a change.
        guard isComplete, !head.isDamaged, change.head.visibility.presence == head.visibility.presence,
            change.head.visibility.lastSeen == head.visibility.lastSeen
        else { return nil }
        if change.list == .contacts, !needsContacts { return [] }
        return change.isUntold ? nil : change.added + change.removed
    }

    /// A list after a change, `nil` if it is unknown. The result contains at least all users that the change adds. If
    /// its size is `count`, it is complete, even if the former list was not known.
    private static func list(_ held: Set<UserID>?, _ change: PolicyChange?, count: Int) -> Set<UserID>? {
        if count == 0 { return [] }
        if change?.isUntold == true { return nil }
        var list = held ?? []
        for user in change?.removed ?? [] { list.remove(user) }
        list.formUnion(change?.added ?? [])
        return list.count == count ? list : nil
    }
}

/// The visibility field of the user's hash: `VERSION PRESENCE LASTSEEN CONTACTS BLOCKS`, the settings as first letters,
/// the lists as lengths. The setting for read receipts follows if the user has ever set it. `findable` is a field of its
/// own: a letter, `-` if it was never set, and a second letter for the users who may begin conversations.
package struct PolicyHead: Equatable {
    /// 0 if the user has never set anything.
    package var version: Int64 = 0
    package var visibility = Visibility()
    package var contacts = 0
    package var blocks = 0
    /// Redis has a value that no script writes. The user's settings are unknown, so no other user sees them.
    package private(set) var isDamaged = false

    package init() {}

    package init?(_ text: String) {
        let words = text.split(separator: " ")
        guard (5...6).contains(words.count), let version = Int64(words[0]), version >= 0 else { return nil }
        self.init(version: version, words[1...])
    }

    /// Parses the hash's fields: `nil` if the first is missing.
    package static func read(_ field: RedisValue, findable: RedisValue) -> PolicyHead? {
        if field.isNull || field.bytes?.isEmpty == true { return nil }
        guard var head = field.string.flatMap({ PolicyHead($0) }) else { return damaged }
        head.setFindable(findable)
        return head
    }

    /// - Parameter letter: null or empty if the user has never set it or the other setting of the field.
    package mutating func setFindable(_ letter: RedisValue) {
        let letters = letter.string ?? "?"
        guard !letter.isNull, !letters.isEmpty else { return }
        let (first, from) = (letters.prefix(1), letters.dropFirst())
        visibility.findable = first == "-" ? nil : Audience(letter: first) ?? .nobody
        visibility.conversationsFrom = from.isEmpty ? nil : from == "e" ? .everyone : .contacts
    }

    package static var damaged: PolicyHead {
        var head = PolicyHead()
        head.isDamaged = true
        return head
    }

    package init?(version: Int64, _ words: ArraySlice<Substring>) {
        guard (4...5).contains(words.count), let presence = Audience(letter: words[words.startIndex]),
            let lastSeen = Audience(letter: words[words.startIndex + 1]),
            let contacts = Int(words[words.startIndex + 2]), let blocks = Int(words[words.startIndex + 3]),
            contacts >= 0, blocks >= 0
        else { return nil }
        self.version = version
        visibility = Visibility(presence: presence, lastSeen: lastSeen)
        self.contacts = contacts
        self.blocks = blocks
        guard words.count == 5 else { return }
        guard let receipts = Audience(letter: words[words.startIndex + 4]), receipts != .contacts else { return nil }
        visibility.receipts = receipts
    }

    package var own: OwnVisibility { OwnVisibility(visibility: visibility, contacts: contacts, blocks: blocks) }
}

/// A change of a user's visibility, as published by a script.
package struct PolicyChange {
    package let head: PolicyHead
    package private(set) var list = PolicyList.none
    package private(set) var added: [UserID] = []
    package private(set) var removed: [UserID] = []
    /// The event does not contain the changed ids, because there are too many: the list has to be read.
    package private(set) var isUntold = false

    /// `nil` for an event that no script publishes.
    package init?(_ event: StoreEvent) {
        var words = event.rest.split(separator: 0x20).map { Substring(decoding: $0, as: UTF8.self) }
        // The settings for read receipts (- if there is none) and for finding, if the user has ever set one.
        let more = words.last?.first == "=" ? words.removeLast().dropFirst() : ""
        guard words.count >= 5, var head = PolicyHead(version: event.version, words[..<4]),
            let list = PolicyList(rawValue: String(words[4]))
        else { return nil }
        head.visibility.receipts = Audience(letter: more.prefix(1))
        head.setFindable(.status(String(more.dropFirst())))
        self.head = head
        self.list = list
        isUntold = words.count == 6 && words[5] == "*"
        for word in words[5...] where !isUntold {
            guard let user = UserID(String(word.dropFirst())) else { continue }
            if word.first == "+" { added.append(user) } else { removed.append(user) }
        }
    }
}

/// A user's lists.
package enum PolicyList: String {
    case contacts, blocks
    case none = "-"
}

/// The result of reading a policy: `OK`, the fields of the hash, the number of contacts, contacts and blocks.
package struct PolicyRead {
    package let head: PolicyHead
    package let contacts: [UserID]
    package let blocks: [UserID]

    init(head: PolicyHead, contacts: [UserID], blocks: [UserID]) {
        (self.head, self.contacts, self.blocks) = (head, contacts, blocks)
    }

    package init?(_ value: RedisValue) {
        guard let answer = value.array, answer.count >= 4 else { return nil }
        head = PolicyHead.read(answer[1], findable: answer[2]) ?? PolicyHead()
        // Ids and heads that are not text are ignored.
        let words = answer.map { $0.string ?? "" }
        guard words[0] == "OK", let count = answer[3].int.map({ Int($0) }), 0...words.count - 4 ~= count else {
            return nil
        }
        contacts = words[4..<4 + count].compactMap { UserID($0) }
        blocks = words[(4 + count)...].compactMap { UserID($0) }
    }
}

extension Audience {
    package var letter: String { String(rawValue.prefix(1)) }

    package init?(letter: Substring) {
        guard let audience = Self.allCases.first(where: { $0.letter == letter }) else { return nil }
        self = audience
    }
}
