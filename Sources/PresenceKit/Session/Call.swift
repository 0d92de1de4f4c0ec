import PresenceProtocol

/// Numbers the calls of the app.
struct CallID: Hashable, Sendable, Comparable {
    let number: UInt64
    static func < (a: CallID, b: CallID) -> Bool { a.number < b.number }
}

/// What the app asks for and waits for.
enum Call: Sendable {
    case get([UserID])
    case setStatus(StatusChange)
    case updateProfile(ProfileChanges, WhenAway)
    case createConversation(Creation)
    case startTyping(ConversationID)
    case stopTyping(ConversationID)
    /// A request about who may see the user, which is answered `ok`.
    case changeVisibility(ClientMessage.Body)
    case readVisibility
}

/// A conversation to be made. With its key it can be asked for again: the server makes one.
struct Creation: Hashable, Sendable {
    let participants: [UserID]
    let key: CreationKey
    /// Whether it was asked for before, and what came of that is not known.
    var isRepeated = false
}

/// How a call was answered.
enum Reply: Sendable {
    case done
    /// In the order asked, those of whom nothing is known among them.
    case people([Person])
    case profile(ProfileUpdate)
    case conversation(Conversation)
    case visibility(MyVisibility)
}

/// A reading of many people, put together from what is held, from answers and from the cache.
struct Reading: Sendable {
    let users: [UserID]
    /// Those answered so far.
    var found: [UserID: Person] = [:]
    /// How many requests are on their way.
    var requests = 0
    /// What the call fails with if the cache cannot answer either; `nil` while the server may still answer.
    var failure: PresenceError?

    var missing: [UserID] { users.filter { found[$0] == nil } }
    var people: [Person] { users.compactMap { found[$0] } }
}

/// What was sent and will be answered.
enum Request: Sendable {
    /// With what the connection begins with.
    case connect(Activity, PendingStatus?)
    case refresh
    case subscribe([UserID])
    case follow(ConversationID)
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
