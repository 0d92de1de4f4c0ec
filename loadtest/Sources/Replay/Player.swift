import PresenceProtocol

/// One person of the trace as they are played: a connection that comes and goes, what they have still to do, and what
/// their screen shows. The screen outlives connections, as an app's cache does.
struct Player {
    enum Line: Equatable {
        case none
        /// A connection is being opened, up to the server's `connected`.
        case opening(ConnectionID)
        case open(ConnectionID)
    }

    /// The conversation that a player types in, made before their first message.
    enum Stage: Equatable {
        case none
        case asked
        case made(ConversationID)
    }

    let device: DeviceKind
    var line = Line.none
    /// Due and not done yet, in their order: a deed waits for the connection, or for the answers to earlier ones.
    var deeds: [Deed] = []
    /// Requests of this line that the server has not answered.
    var unanswered = 0
    private var lastRequest: Int64 = 0

    var shown: [Int: Shown] = [:]
    /// What they show of each conversation they take part in; who types, and by which version.
    var conversations: [ConversationID: (version: Int64, users: [UserID])] = [:]

    /// What they hold of the messages of each, by its id.
    var chats: [String: Chat] = [:]
    /// Messages and marks that the server has not answered, by the number of the request.
    var sends: [Int64: ChatTruth.Sent] = [:]
    var marks: [Int64: String] = [:]
    var written = 0

    var stage = Stage.none
    /// While they type: when that must be said again.
    var typingAgain: Instant?
    var renames = 0

    init(device: DeviceKind) { self.device = device }

    /// Their connection, if requests can be sent on it.
    var connection: ConnectionID? {
        if case .open(let connection) = line { return connection }
        return nil
    }

    /// A number for the next request, whose answer is then awaited.
    mutating func nextRequest() -> Int64 {
        lastRequest += 1
        unanswered += 1
        return lastRequest
    }

    /// What they show of who types in a conversation; an older version than they have changes nothing.
    mutating func show(_ users: [UserID], typingIn conversation: ConversationID, version: Int64) -> Bool {
        guard version > conversations[conversation]?.version ?? -1 else { return false }
        conversations[conversation] = (version, users)
        return true
    }
}
