/// A message from a client to the server, decoded and checked: every value is within the protocol's limits.
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
        /// If the user repeats a request with the same `key`, the reply is the conversation of the first request.
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
        /// Effective from the first moment; on the wire an object like a `status` message, but without `type`.
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
        /// Versions that the client has. A register with exactly that version is left out of the reply.
        public var known: [UserID: KnownVersions]
        public var conversations: [ConversationID]
        /// The conversations among these whose messages are watched too, and the client's position in them.
        public var messages: [ConversationID: MessageCursor] = [:]
        /// Whether the list of the user's own conversations is watched.
        public var conversationList = false
        /// Whether the user's own notifications are watched.
        public var notifications = false
        /// Versions of conversations that the client has. A conversation with exactly that version is left out of the
        /// list.
        public var knownConversations: [ConversationID: Int64] = [:]

        public init(users: [UserID] = [], known: [UserID: KnownVersions] = [:], conversations: [ConversationID] = []) {
            self.users = users
            self.known = known
            self.conversations = conversations
        }
    }

    /// A client's position in a conversation's messages.
    public struct MessageCursor: Hashable, Sendable {
        /// The newest message that the client has; `nil` without messages: the reply then has the newest ones.
        public var after: Int64?
        /// The last change of which the client was notified.
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
