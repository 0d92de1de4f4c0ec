import PresenceProtocol

/// Numbers the app's loops.
struct ObserverID: Hashable, Sendable {
    let number: UInt64
}

/// What an observer looks at.
enum Topic: Hashable, Sendable {
    case presence(UserID)
    case profile(UserID)
    case user(UserID)
    /// As the app gave them, without repetition; malformed ids are shown as refused.
    case roster([String])
    case typing(ConversationID)
    case connection
    case me
    case ownStatus
    case keptProfile

    /// The one person it is about.
    var user: UserID? {
        switch self {
        case .presence(let user), .profile(let user), .user(let user): user
        case .roster, .typing, .connection, .me, .ownStatus, .keptProfile: nil
        }
    }

    /// The people it needs subscriptions for.
    var users: [UserID] {
        switch self {
        case .presence(let user), .profile(let user), .user(let user): [user]
        case .roster(let users): users.compactMap(UserID.init)
        case .typing, .connection, .me, .ownStatus, .keptProfile: []
        }
    }

    var conversation: ConversationID? {
        if case .typing(let conversation) = self { conversation } else { nil }
    }
}

/// One of the app's `for await` loops: what it looks at, and how much of it the app has seen.
struct Observer: Sendable {
    let topic: Topic
    /// The stamp of the newest element that the app got; what has a larger stamp is news.
    var seen: UInt64 = 0
}
