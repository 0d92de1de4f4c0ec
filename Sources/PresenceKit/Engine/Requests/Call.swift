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
    case updateProfile(Wire.ProfileChanges, OfflinePolicy)
    case createConversation(Creation)
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
    /// It will be done with the next connection.
    case queued
    case people(People)
    case profile(ProfileUpdate)
    case conversation(Conversation)
    case visibility(MyVisibility)
}
