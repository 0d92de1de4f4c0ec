/// The own user, as far as this device knows.
public struct Me: Codable, Hashable, Sendable {
    /// The id; `nil` until the server has said it, and after a sign-out. With a ``Storage`` on disk it is known from the
    /// launch on.
    public var user: String?
    /// What the user chose for all their devices.
    public var status: MyStatus?
    /// The profile as others see it, without what waits in the queue.
    public var profile: PersonProfile?
    /// Who may see the user.
    public var visibility: MyAudiences?
    /// The choice of a status that waits for a connection, until the server has made it or refused it: others do not see
    /// it yet.
    public var queuedStatus: ChosenStatus?
    /// Why a choice that had been queued was refused, until the next choice.
    public var statusRefusal: PresenceError?
    /// Why nothing newer comes: the client is closed, as ``PersonPresence/problem``.
    public var problem: PresenceError?

    /// Makes an own user, as a fake or a preview needs it; what is left out is not known.
    public init(
        user: String? = nil, status: MyStatus? = nil, profile: PersonProfile? = nil, visibility: MyAudiences? = nil,
        queuedStatus: ChosenStatus? = nil, statusRefusal: PresenceError? = nil, problem: PresenceError? = nil
    ) {
        self.user = user
        self.status = status
        self.profile = profile
        self.visibility = visibility
        self.queuedStatus = queuedStatus
        self.statusRefusal = statusRefusal
        self.problem = problem
    }
}

/// Who may see the user, and how long the user's lists are.
public struct MyAudiences: Codable, Hashable, Sendable {
    /// Who sees whether the user is here. To anyone else the user looks unknown.
    public var presence: Audience
    /// Of those: who also sees since when the user is offline.
    public var lastSeen: Audience
    /// `everyone` or `nobody`.
    public var receipts: Audience
    /// How many people are on the user's list of contacts.
    public var contactsCount: Int
    /// How many people the user blocks.
    public var blockedCount: Int

    /// Makes audiences; by default those of a new user.
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
