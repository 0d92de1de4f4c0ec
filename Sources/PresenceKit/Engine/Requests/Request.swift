import PresenceProtocol

/// A request that was sent and will have a reply.
enum Request: Sendable {
    /// `connect`, with the activity and the ticket of the status with which the connection starts.
    case connect(Wire.Activity, WriteLane<PendingStatus>.Ticket?)
    case refresh
    case subscribe([UserID])
    case subscribeConversation(ConversationID)
    case unsubscribe
    /// The calls that want each user, and the set of all these calls.
    case get([UserID: [CallID]], Set<CallID>)
    case status(WriteLane<PendingStatus>.Ticket)
    case updateProfile(Wire.ProfileChanges, PresenceClient.OfflinePolicy, CallID)
    case keptProfile(WriteLane<KeptProfile>.Ticket)
    case createConversation(Creation, CallID)
    case typing(ConversationID)
    case changeVisibility(ClientMessage.Body, CallID)
    /// A read of the visibility, with the parts of the reply received so far.
    case readVisibility(VisibilityLists, CallID)
    /// A read of the visibility on behalf of observers of the signed-in user.
    case ownVisibility(VisibilityLists)
    /// A request of an attached library, with the parts of the reply received so far.
    case other(OtherRequest, CallID, parts: [[UInt8]])
    /// A request sent to test the connection, which is replaced if there is no reply by `due`.
    case probe(due: Duration)
}

extension Request {
    /// Whether it may make a change that this call waits for. Those of lanes are there.
    func changesSomething(for call: CallID) -> Bool {
        switch self {
        case .updateProfile(_, _, call), .createConversation(_, call), .changeVisibility(_, call),
            .other(_, call, _):
            true
        default: false
        }
    }
}

extension Request {
    /// The lane that it occupies.
    var lane: Lane? {
        switch self {
        case .updateProfile, .keptProfile: .profile
        case .changeVisibility: .visibility
        default: nil
        }
    }

    /// The call that it belongs to, if there is exactly one.
    var call: CallID? {
        switch self {
        case .updateProfile(_, _, let call), .changeVisibility(_, let call): call
        default: nil
        }
    }

    /// Whether its change is kept and sent again until the server has replied.
    var isKept: Bool {
        switch self {
        case .status, .updateProfile(_, .queue, _), .keptProfile: true
        default: false
        }
    }
}

/// A message for the server, with the request that its reply belongs to; without a request there is no reply.
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
