extension Me {
    /// The user's visibility settings with their complete lists.
    public struct Visibility: Codable, Hashable, Sendable {
        /// The users who may see the presence. To all others the user looks unknown.
        public var presence: Audience
        /// The users among them who may also see when the user was last online.
        public var lastSeen: Audience
        /// Whether the members of a conversation see how far the user has read: `everyone` or `nobody`.
        public var receipts: Audience
        /// The users who find the user by username.
        public var findable: Audience
        /// The users who may begin a conversation with this user alone: `everyone` or `contacts`. Others send a request.
        public var conversationsFrom: Audience
        /// The users to whom `contacts` applies, sorted by id.
        public var contacts: [String]
        /// The blocked users, sorted by id. They never see anything of this user.
        public var blocked: [String]

        /// Creates a value, for fakes and previews.
        public init(
            presence: Audience, lastSeen: Audience, receipts: Audience = .everyone, findable: Audience = .everyone,
            conversationsFrom: Audience = .everyone, contacts: [String] = [], blocked: [String] = []
        ) {
            (self.presence, self.lastSeen, self.receipts) = (presence, lastSeen, receipts)
            (self.findable, self.conversationsFrom, self.contacts) = (findable, conversationsFrom, contacts)
            self.blocked = blocked
        }
    }
}
