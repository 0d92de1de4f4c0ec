/// Who may see the user, and the user's lists whole.
public struct MyVisibility: Codable, Hashable, Sendable {
    /// To anyone else the user looks unknown.
    public var presence: Audience
    /// Of those: who also sees since when the user is offline.
    public var lastSeen: Audience
    /// Whether the members of a conversation see up to where the user has read: `everyone` or `nobody`.
    public var receipts: Audience
    /// Those shown what `contacts` may see, in the order of their ids.
    public var contacts: [String]
    /// The users who never see anything, in the order of their ids.
    public var blocked: [String]

    /// Makes visibility, as a fake or a preview needs it.
    public init(
        presence: Audience, lastSeen: Audience, receipts: Audience = .everyone, contacts: [String] = [],
        blocked: [String] = []
    ) {
        self.presence = presence
        self.lastSeen = lastSeen
        self.receipts = receipts
        self.contacts = contacts
        self.blocked = blocked
    }
}
