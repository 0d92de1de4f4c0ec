/// The own user, as far as this device knows.
public struct Me: Hashable, Sendable {
    /// The id; `nil` until the server has said it, and after a sign-out. With a ``Storage`` on disk it is known from the
    /// launch on.
    public var user: String?
    /// What the user chose for all their devices.
    public var status: MyStatus?
    /// The profile as others see it, without what waits in the queue.
    public var profile: PersonProfile?
    /// Who may see the user.
    public var visibility: MyAudiences?

    public init(
        user: String? = nil, status: MyStatus? = nil, profile: PersonProfile? = nil, visibility: MyAudiences? = nil
    ) {
        self.user = user
        self.status = status
        self.profile = profile
        self.visibility = visibility
    }
}

/// Who may see the user, and how long the user's lists are.
public struct MyAudiences: Hashable, Sendable {
    public var presence: Audience
    public var lastSeen: Audience
    /// `everyone` or `nobody`.
    public var receipts: Audience
    public var contactsCount: Int
    public var blockedCount: Int

    public init(
        presence: Audience = .everyone, lastSeen: Audience = .everyone, receipts: Audience = .everyone,
        contactsCount: Int = 0, blockedCount: Int = 0
    ) {
        self.presence = presence
        self.lastSeen = lastSeen
        self.receipts = receipts
        self.contactsCount = contactsCount
        self.blockedCount = blockedCount
    }
}
