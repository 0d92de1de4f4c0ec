/// Who may see something of a user.
public enum Audience: String, Sendable, CaseIterable {
    case everyone
    /// The user's contacts.
    case contacts
    case nobody
}

/// Who may see a user. Everyone may until the user says otherwise; blocked users never may.
public struct Visibility: Hashable, Sendable {
    /// To anyone else the user looks unknown, presence and profile alike.
    public var presence: Audience
    /// Of the viewers of the presence: who also sees since when the user is offline. It is mutual: a user sees it
    /// only of users who may see theirs.
    public var lastSeen: Audience
    /// Whether the members of a conversation see up to where the user has read: `everyone` or `nobody`, and it is mutual.
    /// `nil` until the user says it: `everyone`.
    public var receipts: Audience?

    public init(presence: Audience = .everyone, lastSeen: Audience = .everyone, receipts: Audience? = nil) {
        self.presence = presence
        self.lastSeen = lastSeen
        self.receipts = receipts
    }
}

/// A change of who may see a user; what is `nil` stays as it is.
public struct VisibilityChange: Hashable, Sendable {
    public var presence: Audience?
    public var lastSeen: Audience?
    /// `everyone` or `nobody`.
    public var receipts: Audience?

    public init(presence: Audience? = nil, lastSeen: Audience? = nil, receipts: Audience? = nil) {
        self.presence = presence
        self.lastSeen = lastSeen
        self.receipts = receipts
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

/// Who may see a user, with how many they list, as all of their sessions are told after a change.
public struct OwnVisibility: Hashable, Sendable {
    public var visibility: Visibility
    /// How many contacts the user has.
    public var contacts: Int
    /// How many the user blocks.
    public var blocks: Int

    public init(visibility: Visibility = Visibility(), contacts: Int = 0, blocks: Int = 0) {
        self.visibility = visibility
        self.contacts = contacts
        self.blocks = blocks
    }
}

/// Who may see a user, with the user's lists; or a part of it.
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
