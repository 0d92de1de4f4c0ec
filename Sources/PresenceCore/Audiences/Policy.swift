import PresenceProtocol
import Redis

/// Who may see one user, as Redis holds it: the settings and the user's lists.
///
/// A list is held only while it is needed to decide, and is `nil` when it has not been read. What then cannot be
/// decided is decided against the viewer.
package final class Policy {
    package let user: UserID
    package private(set) var head = PolicyHead()
    package private(set) var contacts: Set<UserID>?
    package private(set) var blocks: Set<UserID>?
    /// Its lists are being read.
    var isReading = false
    /// Somebody has paid for their reading that is to come.
    var isPaidFor = false
    /// When they were last asked for.
    var lastReading: Milliseconds?
    /// Callers awaiting lists.
    var waiters: [(Topic.RedisOutcome) -> Void] = []

    /// - Parameter isNew: Redis is known to hold nothing of the user's visibility yet, so both lists are empty.
    init(of user: UserID, isNew: Bool) {
        self.user = user
        contacts = isNew ? [] : nil
        blocks = isNew ? [] : nil
    }

    /// What a viewer may be shown of a user.
    package enum View {
        case whole
        /// An offline user looks as if nothing were known of their presence: `since` and the version would tell when
        /// they left as well as `lastSeen` does.
        case withoutLastSeen
        /// An unknown user.
        case nothing
    }

    /// What this user alone would let somebody else see. Of a record that cannot be read, nothing.
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

    /// Everything is there that decides.
    var isComplete: Bool { blocks != nil && (contacts != nil || !needsContacts) }

    /// How many ids are held of its lists.
    var listed: Int { (contacts?.count ?? 0) + (blocks?.count ?? 0) }

    private var needsContacts: Bool { head.visibility.presence == .contacts || head.visibility.lastSeen == .contacts }

    // MARK: What Redis says

    /// A newer state of which only the head is known.
    package func take(_ head: PolicyHead) {
        self.head = head
        contacts = head.contacts == 0 && !head.isDamaged ? [] : nil
        blocks = head.blocks == 0 && !head.isDamaged ? [] : nil
    }

    /// The next state, by what changed.
    func take(_ change: PolicyChange) {
        head = change.head
        contacts = Self.list(contacts, change.list == .contacts ? change : nil, count: head.contacts)
        blocks = Self.list(blocks, change.list == .blocks ? change : nil, count: head.blocks)
        if !needsContacts, head.contacts > 0 { contacts = nil }
    }

    /// A state as it was read.
    package func take(_ read: PolicyRead) {
        head = read.head
        contacts = needsContacts || head.contacts == 0 ? Set(read.contacts) : nil
        blocks = Set(read.blocks)
    }

    /// The users the next change concerns; `nil`: it may be anybody.
    func concerned(by change: PolicyChange) -> [UserID]? {
        // While the lists are unknown, so are the users a change concerns.
        guard isComplete, !head.isDamaged, change.head.visibility.presence == head.visibility.presence,
            change.head.visibility.lastSeen == head.visibility.lastSeen
        else { return nil }
        if change.list == .contacts, !needsContacts { return [] }
        return change.isUntold ? nil : change.added + change.removed
    }

    /// A list after a change, `nil` if it cannot be told. It then has every user the change adds: if their number is
    /// `count`, the list is whole, whatever was known before.
    private static func list(_ held: Set<UserID>?, _ change: PolicyChange?, count: Int) -> Set<UserID>? {
        if count == 0 { return [] }
        if change?.isUntold == true { return nil }
        var list = held ?? []
        for user in change?.removed ?? [] { list.remove(user) }
        list.formUnion(change?.added ?? [])
        return list.count == count ? list : nil
    }
}

/// What the user's hash holds of their visibility: `VERSION PRESENCE LASTSEEN CONTACTS BLOCKS`, the settings by their
/// first letters, the lists by their lengths; then who sees what they have read, once they said that.
package struct PolicyHead: Equatable {
    /// 0 if the user never set anything.
    package var version: Int64 = 0
    package var visibility = Visibility()
    package var contacts = 0
    package var blocks = 0
    /// Redis holds something that no script writes. What the user allowed is not known, so nobody else sees them.
    package private(set) var isDamaged = false

    package init() {}

    package init?(_ text: String) {
        let words = text.split(separator: " ")
        guard (5...6).contains(words.count), let version = Int64(words[0]), version >= 0 else { return nil }
        self.init(version: version, words[1...])
    }

    /// The hash's field as it was read: `nil` if it has none.
    package static func read(_ field: RedisValue) -> PolicyHead? {
        if field.isNull || field.bytes?.isEmpty == true { return nil }
        return field.string.flatMap { PolicyHead($0) } ?? damaged
    }

    /// Reading the lists costs more than asking whether one user is in them.
    var isLong: Bool { !isDamaged && RequestPrice.listed(contacts + blocks) > 0 }

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

/// A change of somebody's visibility, as a script published it.
package struct PolicyChange {
    package let head: PolicyHead
    package private(set) var list = PolicyList.none
    package private(set) var added: [UserID] = []
    package private(set) var removed: [UserID] = []
    /// More ids changed than the event names: the list has to be read.
    package private(set) var isUntold = false

    /// `nil` for what no script of ours publishes.
    package init?(_ event: StoreEvent) {
        var words = event.rest.split(separator: 0x20).map { Substring(decoding: $0, as: UTF8.self) }
        // Who sees what they have read, once they said that.
        let receipts = words.last?.first == "=" ? words.removeLast().dropFirst() : nil
        guard words.count >= 5, var head = PolicyHead(version: event.version, words[..<4]),
            let list = PolicyList(rawValue: String(words[4]))
        else { return nil }
        head.visibility.receipts = receipts.flatMap { Audience(letter: $0) }
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

/// What was read of who may see a user: `OK`, the field of the hash, the number of contacts, contacts and blocks.
package struct PolicyRead {
    package let head: PolicyHead
    package let contacts: [UserID]
    package let blocks: [UserID]

    init(head: PolicyHead, contacts: [UserID], blocks: [UserID]) {
        (self.head, self.contacts, self.blocks) = (head, contacts, blocks)
    }

    package init?(_ value: RedisValue) {
        guard let answer = value.array, answer.count >= 3 else { return nil }
        head = PolicyHead.read(answer[1]) ?? PolicyHead()
        // An id or a head that is no text is none.
        let words = answer.map { $0.string ?? "" }
        guard words[0] == "OK", let count = answer[2].int.map({ Int($0) }), 0...words.count - 3 ~= count else {
            return nil
        }
        contacts = words[3..<3 + count].compactMap { UserID($0) }
        blocks = words[(3 + count)...].compactMap { UserID($0) }
    }
}

extension Audience {
    package var letter: String { String(rawValue.prefix(1)) }

    package init?(letter: Substring) {
        guard let audience = Self.allCases.first(where: { $0.letter == letter }) else { return nil }
        self = audience
    }
}
