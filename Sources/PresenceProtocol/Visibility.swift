/// The users who may see a part of a user.
public enum Audience: String, Sendable, CaseIterable {
    case everyone
    /// The user's contacts.
    case contacts
    case nobody
}

/// The audiences of a user. By default everyone may see them; blocked users never may.
public struct Visibility: Hashable, Sendable {
    /// Other users see the user as unknown, presence and profile alike.
    public var presence: Audience
    /// Which viewers of the presence also see the user's `lastSeen`, the time since which the user is offline. This is
    /// mutual: a user sees another user's `lastSeen` only if that user may see theirs.
    public var lastSeen: Audience
    /// Whether the members of a conversation see how far the user has read: `everyone` or `nobody`. This is mutual too.
    /// `nil` means that the user has never set it, and counts as `everyone`.
    public var receipts: Audience?
    /// The users who find the user by username. `nil` means that the user has never set it, and counts as `everyone`.
    public var findable: Audience?
    /// The users who may begin a direct conversation with the user: `everyone` or `contacts`. Others send a request. `nil`
    /// means that the user has never set it, and counts as `everyone`.
    public var conversationsFrom: Audience?

    public init(
        presence: Audience = .everyone, lastSeen: Audience = .everyone, receipts: Audience? = nil,
        findable: Audience? = nil, conversationsFrom: Audience? = nil
    ) {
        self.presence = presence
        self.lastSeen = lastSeen
        self.receipts = receipts
        self.findable = findable
        self.conversationsFrom = conversationsFrom
    }
}

/// A change of who may see a user; `nil` members keep their values.
public struct VisibilityChange: Hashable, Sendable {
    public var presence: Audience?
    public var lastSeen: Audience?
    /// `everyone` or `nobody`.
    public var receipts: Audience?
    public var findable: Audience?
    /// `everyone` or `contacts`.
    public var conversationsFrom: Audience?

    public init(
        presence: Audience? = nil, lastSeen: Audience? = nil, receipts: Audience? = nil, findable: Audience? = nil,
        conversationsFrom: Audience? = nil
    ) {
        self.presence = presence
        self.lastSeen = lastSeen
        self.receipts = receipts
        self.findable = findable
        self.conversationsFrom = conversationsFrom
    }
}

/// A change of a user's contacts or blocked users, as the HTTP interface carries it.
public struct ListChange: Hashable, Sendable {
    public var add: [UserID]
    public var remove: [UserID]

    public init(add: [UserID] = [], remove: [UserID] = []) {
        self.add = add
        self.remove = remove
    }
}

/// The audiences of a user and the lengths of their lists, as all of their sessions are notified after a change.
public struct OwnVisibility: Hashable, Sendable {
    public var visibility: Visibility
    /// How many contacts the user has.
    public var contacts: Int
    /// The number of users whom the user blocks.
    public var blocks: Int

    public init(visibility: Visibility = Visibility(), contacts: Int = 0, blocks: Int = 0) {
        self.visibility = visibility
        self.contacts = contacts
        self.blocks = blocks
    }
}

/// The audiences of a user and the user's lists of contacts and blocked users, or a part of these.
public struct VisibilityLists: Hashable, Sendable {
    public var visibility: Visibility
    public var contacts: [UserID]
    public var blocks: [UserID]

    public init(visibility: Visibility = Visibility(), contacts: [UserID] = [], blocks: [UserID] = []) {
        self.visibility = visibility
        self.contacts = contacts
        self.blocks = blocks
    }
}
