import PresenceProtocol

/// What was sent and will be answered.
enum Request: Sendable {
    /// With what the connection begins with.
    case connect(Wire.Activity, PendingStatus?)
    case refresh
    case subscribe([UserID])
    case subscribeConversation(ConversationID)
    case unsubscribe
    /// The calls that want each user, and all these calls.
    case get([UserID: [CallID]], Set<CallID>)
    case status(PendingStatus)
    case updateProfile(Wire.ProfileChanges, OfflinePolicy, CallID)
    case keptProfile
    case createConversation(Creation, CallID)
    case typing(ConversationID)
    case changeVisibility(ClientMessage.Body, CallID)
    /// With the parts of the answer that have come.
    case readVisibility(VisibilityLists, CallID)
    /// The same, for those who observe the own user.
    case ownVisibility(VisibilityLists)
    /// A request that another library knows, with the parts of the answer that have come.
    case other(OtherRequest, CallID, parts: [[UInt8]])
    /// Its answer shows that the connection lives.
    case probe(due: Duration)
}

extension Request {
    /// Whether it may change something that this call waits for.
    func changesSomething(for call: CallID) -> Bool {
        switch self {
        case .status(let pending), .connect(_, let pending?): pending.calls.contains(call)
        case .updateProfile(_, _, call), .createConversation(_, call), .changeVisibility(_, call),
            .other(_, call, _):
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

extension Request {
    /// The lane that it takes.
    var lane: Lane? {
        switch self {
        case .updateProfile, .keptProfile: .profile
        case .changeVisibility: .visibility
        default: nil
        }
    }

    /// The one call that it is for, if it is for one.
    var call: CallID? {
        switch self {
        case .updateProfile(_, _, let call), .changeVisibility(_, let call): call
        default: nil
        }
    }

    /// Whether what it asks for is kept, and asked for again, until the server has answered it.
    var isKept: Bool {
        switch self {
        case .status, .updateProfile(_, .queue, _), .keptProfile: true
        default: false
        }
    }
}

/// A message for the server, and what its answer is for; without a request there is no answer.
struct Outgoing: Sendable {
    enum Body: Sendable {
        case known(ClientMessage.Body)
        case other(OtherRequest)
    }

    let body: Body
    let request: Request?

    init(_ body: ClientMessage.Body, _ request: Request? = nil) {
        self.body = .known(body)
        self.request = request
    }

    init(_ other: OtherRequest, _ call: CallID) {
        body = .other(other)
        request = .other(other, call, parts: [])
    }

    func encoded(id: Int64?) -> [UInt8] {
        switch body {
        case .known(let body): ClientMessage(id: id, body).encoded()
        case .other(let request): request.encoded(id: id)
        }
    }
}
