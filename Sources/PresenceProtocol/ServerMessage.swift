/// A message from the server to a client.
public enum ServerMessage: Hashable, Sendable {
    case connected(id: Int64?, Connected)
    case refreshed(id: Int64?)
    case ok(id: Int64)
    /// `more`: further parts of the same reply follow.
    case subscribed(id: Int64?, users: [UserSnapshot], conversations: [ConversationSnapshot], more: Bool)
    case unsubscribed(id: Int64?)
    case users(id: Int64?, [UserSnapshot], more: Bool)
    case profileUpdated(id: Int64?, Profile)
    case conversationCreated(id: Int64?, Conversation)
    case presence(user: UserID, Presence, at: Timestamp?)
    case profile(user: UserID, ProfileRegister, at: Timestamp?)
    case typing(TypingEvent)
    case ownStatus(OwnStatus)
    /// `more`: further parts of the same reply follow, with further ids.
    case visibility(id: Int64?, VisibilityLists, more: Bool)
    case ownVisibility(OwnVisibility)
    case tokenExpiring(expiresIn: Milliseconds)
    case stale(since: Timestamp?)
    case live
    case error(ErrorMessage)
    /// A `type` of a later server, or of another library's feature. With an `id` it is a reply, and `more` means that
    /// further parts follow.
    case unknown(type: String, id: Int64? = nil, more: Bool = false)

    public struct Connected: Hashable, Sendable {
        public var user: UserID
        public var session: String
        public var serverTime: Timestamp
        /// Absent if the server could not reach its store; an `ownStatus` then follows.
        public var status: OwnStatus?
        public var heartbeatInterval: Milliseconds
        public var heartbeatTimeout: Milliseconds
        public var linger: Milliseconds
        public var limits: ConnectionLimits

        public init(
            user: UserID, session: String, serverTime: Timestamp, status: OwnStatus?, heartbeatInterval: Milliseconds,
            heartbeatTimeout: Milliseconds, linger: Milliseconds, limits: ConnectionLimits
        ) {
            self.user = user
            self.session = session
            self.serverTime = serverTime
            self.status = status
            self.heartbeatInterval = heartbeatInterval
            self.heartbeatTimeout = heartbeatTimeout
            self.linger = linger
            self.limits = limits
        }
    }

    public struct Conversation: Hashable, Sendable {
        public var id: ConversationID
        public var participants: [UserID]

        public init(id: ConversationID, participants: [UserID]) {
            self.id = id
            self.participants = participants
        }
    }

    /// The users who type in a conversation, as in `subscribed`.
    public struct ConversationSnapshot: Hashable, Sendable {
        public var conversation: ConversationID
        public var version: Int64
        public var typing: [UserID]

        public init(conversation: ConversationID, version: Int64, typing: [UserID]) {
            self.conversation = conversation
            self.version = version
            self.typing = typing
        }
    }

    /// All users who type now, not a difference; at most 20 names, and the number of the others (`more`).
    public struct TypingEvent: Hashable, Sendable {
        public var conversation: ConversationID
        public var version: Int64
        public var users: [UserID]
        public var more: Int
        public var at: Timestamp?

        public init(conversation: ConversationID, version: Int64, users: [UserID], more: Int = 0, at: Timestamp? = nil)
        {
            self.conversation = conversation
            self.version = version
            self.users = users
            self.more = more
            self.at = at
        }
    }

    public struct ErrorMessage: Hashable, Sendable, Error {
        public var id: Int64?
        public var code: ErrorCode
        public var message: String
        public var field: String?
        /// The precise reason, for programs, if a code covers several: `email_taken`.
        public var reason: String?
        /// The time to wait before a retry.
        public var retryAfter: Milliseconds?
        /// The end of a ban; `nil` if it has none.
        public var until: Timestamp?
        /// The scope that a backend's key lacks for a call over HTTP.
        public var scope: String?
        /// Whether the request may have succeeded nevertheless. On the wire only if true.
        public var outcomeUnknown: Bool

        public init(
            id: Int64? = nil, code: ErrorCode, message: String, field: String? = nil,
            reason: String? = nil, retryAfter: Milliseconds? = nil, until: Timestamp? = nil,
            outcomeUnknown: Bool = false
        ) {
            self.id = id
            self.code = code
            self.message = message
            self.field = field
            self.reason = reason
            self.retryAfter = retryAfter
            self.until = until
            self.outcomeUnknown = outcomeUnknown
        }
    }
}

/// The limits in `connected`.
public struct ConnectionLimits: Hashable, Sendable {
    /// The longest message that the server accepts, in bytes.
    public var maxMessageBytes: Int
    /// The longest message that the server sends, in bytes; longer replies are split.
    public var maxServerMessageBytes: Int
    /// How many users and conversations one connection may watch.
    public var subscriptions: Int
    /// How many ids one `subscribe` or `get` may name.
    public var subscribeBatch: Int

    public init(
        maxMessageBytes: Int = 262_144, maxServerMessageBytes: Int = 262_144, subscriptions: Int = 10_000,
        subscribeBatch: Int = 1_000
    ) {
        self.maxMessageBytes = maxMessageBytes
        self.maxServerMessageBytes = maxServerMessageBytes
        self.subscriptions = subscriptions
        self.subscribeBatch = subscribeBatch
    }
}
