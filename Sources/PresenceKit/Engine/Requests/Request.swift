import PresenceProtocol

/// What was sent and will be answered.
enum Request: Sendable {
    /// With what the connection begins with.
    case connect(Activity, PendingStatus?)
    case refresh
    case subscribe([UserID])
    case subscribeConversation(ConversationID)
    case unsubscribe
    case get([UserID], CallID)
    case status(PendingStatus)
    case updateProfile(ProfileChanges, WhenAway, CallID)
    case keptProfile
    case createConversation(Creation, CallID)
    /// `call` is `nil` for a repetition.
    case typing(ConversationID, call: CallID?)
    case stopTyping(CallID)
    case changeVisibility(CallID)
    /// With the parts of the answer that have come.
    case readVisibility(VisibilityLists, CallID)
    /// Its answer shows that the connection lives.
    case probe(due: Duration)
}

extension Request {
    /// Whether it may change something that this call waits for.
    func changesSomething(for call: CallID) -> Bool {
        switch self {
        case .status(let pending), .connect(_, let pending?): pending.calls.contains(call)
        case .updateProfile(_, _, call), .createConversation(_, call), .changeVisibility(call),
            .typing(_, call: .some(call)), .stopTyping(call):
            true
        default: false
        }
    }

    /// The status that it carries, as one that the server may have heard.
    var status: PendingStatus? {
        switch self {
        case .status(var pending), .connect(_, .some(var pending)):
            pending.wasSent = true
            return pending
        default: return nil
        }
    }
}

/// A message for the server, and what its answer is for; without a request there is no answer.
struct Outgoing: Sendable {
    let body: ClientMessage.Body
    let request: Request?

    init(_ body: ClientMessage.Body, _ request: Request? = nil) {
        self.body = body
        self.request = request
    }
}
