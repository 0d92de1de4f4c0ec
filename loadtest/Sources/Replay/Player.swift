import PresenceProtocol

/// One person of the trace as they are played: their present connection, their remaining actions, and the state of
/// their screen. The screen outlives connections, like an app's cache.
struct Player {
    enum Line: Equatable {
        case none
        /// A connection is being opened, up to the server's `connected`.
        case opening(ConnectionID)
        case open(ConnectionID)
    }

    /// The state of a player's own conversation, created before their first message.
    enum Stage: Equatable {
        case none
        case asked
        case made(ConversationID)
    }

    let device: DeviceKind
    var line = Line.none
    /// Due actions, in order: an action waits for the connection, or for the answers to earlier ones.
    var deeds: [Deed] = []
    /// Requests of this connection without an answer.
    var unanswered = 0
    private var lastRequest: Int64 = 0

    var shown: [Int: Shown] = [:]
    /// The shown state of each conversation: who types, and by which version.
    var conversations: [ConversationID: (version: Int64, users: [UserID])] = [:]

    /// The messages of each conversation, by its id.
    var chats: [String: Chat] = [:]
    /// Messages and marks without an answer, by the number of the request.
    var sends: [Int64: ChatTruth.Sent] = [:]
    var marks: [Int64: String] = [:]
    var written = 0

    var stage = Stage.none
    /// While they type: when that must be repeated.
    var typingAgain: Instant?
    var renames = 0

    init(device: DeviceKind) { self.device = device }

    /// Their connection, if requests can be sent on it.
    var connection: ConnectionID? {
        if case .open(let connection) = line { return connection }
        return nil
    }

    /// Returns the number of the next request, whose answer is then pending.
    mutating func nextRequest() -> Int64 {
        lastRequest += 1
        unanswered += 1
        return lastRequest
    }

    /// Shows who types in a conversation; an older version changes nothing.
    mutating func show(_ users: [UserID], typingIn conversation: ConversationID, version: Int64) -> Bool {
        guard version > conversations[conversation]?.version ?? -1 else { return false }
        conversations[conversation] = (version, users)
        return true
    }
}
