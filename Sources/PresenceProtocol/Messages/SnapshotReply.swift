/// A `subscribed` or `users` reply under construction, split into messages that are each no longer than a limit.
///
///     {"type":"subscribed","id":2,"users":[…],"more":true}
///     {"type":"subscribed","id":2,"users":[…],"conversations":[…]}
///
/// Users come first, then conversations. All parts except the last have `"more":true`. A reply without users is one
/// message with an empty list. An entry that does not fit into a part begins the next part. A single user or
/// conversation is never split: if its entry alone exceeds the limit, so does its part (registers are bounded far below
/// the limit).
public struct SnapshotReply {
    public enum Kind: Sendable {
        case subscribed, users
    }

    private enum List: Int {
        case none, users, conversations, conversationList, notifications
    }

    private static let more: StaticString = ",\"more\":true}"
    /// The estimated length for a user with a short text and a name.
    private static let bytesPerPerson = 160

    /// The message up to its `id`, the same for each part.
    private let head: [UInt8]
    private let limit: Int
    private var parts: [[UInt8]] = []
    /// The part being written; its list is still open.
    private var part: [UInt8]
    private var list = List.none
    /// The members that describe the user's notifications as a whole, as an object without its last brace; in each
    /// part.
    private var notifications: [UInt8] = []
    /// Whether each part has a list of users, even if it is empty.
    private var alwaysHasUsers = false
    /// Whether the open list is empty.
    private var isEmpty = true
    /// One user or conversation, before its part is chosen.
    private var entry: [UInt8] = []

    /// - Parameters:
    ///   - limit: The longest message in bytes, `limits.maxServerMessageBytes`.
    ///   - people: The approximate number of users: memory is reserved for them.
    public init(_ kind: Kind, id: Int64?, limit: Int, people: Int = 1) {
        var head: [UInt8] = []
        ServerMessageWriter.begin(kind == .subscribed ? "subscribed" : "users", id: id, to: &head)
        self.head = head
        self.limit = limit
        part = head
        part.reserveCapacity(min(limit, Self.bytesPerPerson * (people + 1)))
    }

    /// Adds a user from the registers' bytes, which are valid during the call.
    ///
    /// - Parameters:
    ///   - presence: An object; `nil` leaves the register out.
    ///   - profile: An object, or `null` for no profile; `nil` leaves the register out.
    public mutating func add(user: UserID, presence: UnsafeRawBufferPointer?, profile: UnsafeRawBufferPointer?) {
        entry.removeAll(keepingCapacity: true)
        UserSnapshot.encode(user: user, presence: presence, profile: profile, into: &entry)
        addEntry(to: .users)
    }

    /// Adds a user that `UserSnapshot.encode` has encoded.
    package mutating func add(user object: [UInt8]) { add(object, to: .users) }

    public mutating func add(user: UserID, presence: [UInt8]?, profile: [UInt8]?) {
        entry.removeAll(keepingCapacity: true)
        JSONWriter.raw("{\"user\":", to: &entry)
        JSONWriter.string(user.string, to: &entry)
        if let presence {
            JSONWriter.key("presence", to: &entry)
            entry.append(contentsOf: presence)
        }
        if let profile {
            JSONWriter.key("profile", to: &entry)
            entry.append(contentsOf: profile)
        }
        JSONWriter.raw("}", to: &entry)
        addEntry(to: .users)
    }

    public mutating func add(_ user: UserSnapshot) {
        entry.removeAll(keepingCapacity: true)
        user.encode(into: &entry)
        addEntry(to: .users)
    }

    /// Adds a conversation. After the first one no more users may be added.
    public mutating func add(_ conversation: ServerMessage.ConversationSnapshot) {
        entry.removeAll(keepingCapacity: true)
        conversation.encode(into: &entry)
        addEntry(to: .conversations)
    }

    /// The reply has messages: each part then has a list of users too. Call this before adding anything.
    package mutating func beginMessages() { alwaysHasUsers = true }

    /// Adds a watched conversation, as an object that is JSON already.
    package mutating func add(conversation object: [UInt8]) {
        entry = object
        addEntry(to: .conversations)
    }

    /// Adds a conversation of the list, as an object that is JSON already. Only notifications may be added after it.
    package mutating func add(listed object: [UInt8]) {
        entry = object
        addEntry(to: .conversationList)
    }

    /// The reply has the list of conversations, even if it is empty.
    package mutating func beginConversationList() {
        if list != .conversationList { open(.conversationList) }
    }

    /// The reply has the user's notifications, even if there are none.
    ///
    /// - Parameter head: The members that describe them as a whole: an object without its last brace.
    package mutating func begin(notifications head: [UInt8]) {
        notifications = head
        if list != .notifications { open(.notifications) }
    }

    /// Adds a notification, as an object that is JSON already, after `begin`. Nothing else may be added after it.
    package mutating func add(notification object: [UInt8]) {
        entry = object
        addEntry(to: .notifications)
    }

    /// The messages, in the order of sending; at least one.
    public consuming func finish() -> [[UInt8]] {
        if list == .none { open(.users) }
        close()
        JSONWriter.raw("}", to: &part)
        parts.append(part)
        return parts
    }

    private mutating func addEntry(to wanted: List) { add(entry, to: wanted) }

    private mutating func add(_ entry: [UInt8], to wanted: List) {
        precondition(wanted.rawValue >= list.rawValue, "a reply's lists are filled one after the other")
        // The most bytes before an entry are `],"users":[],"conversationList":[` or
        // `],"users":[],"notifications":{…,"items":[`.
        let needed = entry.count + notifications.count + 42 + 2 + Self.more.utf8CodeUnitCount
        let isSplit = list != .none && part.count + needed > limit
        if isSplit {
            close()
            JSONWriter.raw(Self.more, to: &part)
            parts.append(part)
            part = head
            list = .none
        }
        if list == wanted, !isEmpty {
            part.append(UInt8(ascii: ","))
        } else if list != wanted {
            open(wanted)
        }
        part.append(contentsOf: entry)
        isEmpty = false
    }

    /// Begins a list in the part, after ending the one before it.
    private mutating func open(_ wanted: List) {
        close()
        switch wanted {
        case .none: break
        case .users: JSONWriter.key("users", to: &part)
        case .conversations:
            if alwaysHasUsers, list == .none { JSONWriter.raw(",\"users\":[]", to: &part) }
            JSONWriter.key("conversations", to: &part)
        case .conversationList:
            if list == .none { JSONWriter.raw(",\"users\":[]", to: &part) }
            JSONWriter.key("conversationList", to: &part)
        case .notifications:
            if list == .none { JSONWriter.raw(",\"users\":[]", to: &part) }
            JSONWriter.key("notifications", to: &part)
            part += notifications
            JSONWriter.key("items", to: &part)
        }
        part.append(UInt8(ascii: "["))
        list = wanted
        isEmpty = true
    }

    /// Ends the open list, and the object around it.
    private mutating func close() {
        switch list {
        case .none: break
        case .users, .conversations, .conversationList: JSONWriter.raw("]", to: &part)
        case .notifications: JSONWriter.raw("]}", to: &part)
        }
    }
}
