/// The signed-in user, as far as this device knows.
public struct Me: Codable, Hashable, Sendable {
    /// The user's id; `nil` after a sign-out, and until the server has sent it. With a ``Storage`` on disk it is known
    /// from the launch.
    public var user: String?
    /// The status that the user chose for all their devices.
    public var status: Me.Status?
    /// The profile as others see it, without queued changes.
    public var profile: PersonProfile?
    /// The users who may see this user.
    public var visibility: Me.Audiences?
    /// A chosen status that is queued until there is a connection. Others do not see it until the server has accepted
    /// it.
    public var queuedStatus: ChosenStatus?
    /// Why the server rejected a queued status; kept until the user chooses again.
    public var statusRefusal: PresenceError?
    /// Why the value is no longer updated: the client is closed, as in ``PersonPresence/problem``.
    public var problem: PresenceError?

    /// Creates a value for fakes and previews. Omitted members are unknown.
    public init(
        user: String? = nil, status: Me.Status? = nil, profile: PersonProfile? = nil, visibility: Me.Audiences? = nil,
        queuedStatus: ChosenStatus? = nil, statusRefusal: PresenceError? = nil, problem: PresenceError? = nil
    ) {
        (self.user, self.status, self.profile, self.visibility) = (user, status, profile, visibility)
        (self.queuedStatus, self.statusRefusal, self.problem) = (queuedStatus, statusRefusal, problem)
    }
}

extension Me {
    /// The user's visibility settings, and the lengths of their lists.
    public struct Audiences: Codable, Hashable, Sendable {
        /// The users who may see the presence. To all others the user looks unknown.
        public var presence: Audience
        /// The users among them who may also see when the user was last online.
        public var lastSeen: Audience
        /// Whether read receipts are shared: `everyone` or `nobody`.
        public var receipts: Audience
        /// The users who find the user by username.
        public var findable: Audience
        /// The users who may begin a conversation with this user alone: `everyone` or `contacts`. Others send a request.
        public var conversationsFrom: Audience
        /// The number of users on the list of contacts.
        public var contactsCount: Int
        /// The number of users that this user blocks.
        public var blockedCount: Int

        /// Creates settings; the defaults are those of a new user.
        public init(
            presence: Audience = .everyone, lastSeen: Audience = .everyone, receipts: Audience = .everyone,
            findable: Audience = .everyone, conversationsFrom: Audience = .everyone, contactsCount: Int = 0,
            blockedCount: Int = 0
        ) {
            (self.presence, self.lastSeen, self.receipts) = (presence, lastSeen, receipts)
            (self.findable, self.conversationsFrom) = (findable, conversationsFrom)
            (self.contactsCount, self.blockedCount) = (contactsCount, blockedCount)
        }
    }
}
