/// A message from a client to the server, decoded and checked: whatever is here is within the protocol's bounds.
public struct ClientMessage: Hashable, Sendable {
    /// Chosen by the client; the reply carries it. 1 to 2^53-1.
    public var id: Int64?
    public var body: Body

    public init(id: Int64? = nil, _ body: Body) {
        self.id = id
        self.body = body
    }

    public enum Body: Hashable, Sendable {
        case connect(Connect)
        case refresh(token: String)
        case subscribe(Subscribe)
        case unsubscribe(
            users: [UserID], conversations: [ConversationID], conversationList: Bool = false,
            notifications: Bool = false)
        case get(users: [UserID])
        case status(StatusChange)
        case activity(Activity)
        case updateProfile(ProfileChanges)
        /// With the same `key` of the same user again, the answer is the conversation that was made first.
        case createConversation(participants: [UserID], key: CreationKey? = nil)
        case typing(conversation: ConversationID, typing: Bool)
        case setVisibility(VisibilityChange)
        case getVisibility
        case addContacts([UserID])
        case removeContacts([UserID])
        case block([UserID])
        case unblock([UserID])
        case disconnect
    }

    public struct Connect: Hashable, Sendable {
        /// May be absent when the upgrade request carried `Authorization: Bearer …`.
        public var token: String?
        public var device: Device?
        public var activity: Activity
        /// Holds from the first moment; on the wire an object like a `status` message without `type`.
        public var status: StatusChange?

        public init(token: String?, device: Device? = nil, activity: Activity = .active, status: StatusChange? = nil) {
            self.token = token
            self.device = device
            self.activity = activity
            self.status = status
        }
    }

    public struct Subscribe: Hashable, Sendable {
        public var users: [UserID]
        /// Versions that the client holds; a register with exactly that version is left out of the answer.
        public var known: [UserID: KnownVersions]
        public var conversations: [ConversationID]
        /// Of which of these conversations the messages are watched too, and what of them the client holds.
        public var messages: [ConversationID: MessageCursor] = [:]
        /// Whether the list of the user's own conversations is watched.
        public var conversationList = false
        /// Whether the user's own notifications are watched.
        public var notifications = false
        /// Versions of conversations that the client holds; one with exactly that version is left out of the list.
        public var knownConversations: [ConversationID: Int64] = [:]

        public init(users: [UserID] = [], known: [UserID: KnownVersions] = [:], conversations: [ConversationID] = []) {
            self.users = users
            self.known = known
            self.conversations = conversations
        }
    }

    /// What a client holds of a conversation's messages.
    public struct MessageCursor: Hashable, Sendable {
        /// The newest message; `nil`: none, and the newest ones are wanted.
        public var after: Int64?
        /// The last change that it was told of.
        public var messagesVersion: Int64?

        public init(after: Int64? = nil, messagesVersion: Int64? = nil) {
            self.after = after
            self.messagesVersion = messagesVersion
        }
    }

    public struct KnownVersions: Hashable, Sendable {
        public var presence: Int64?
        public var profile: Int64?

        public init(presence: Int64? = nil, profile: Int64? = nil) {
            self.presence = presence
            self.profile = profile
        }
    }
}
