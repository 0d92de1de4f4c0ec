import PresenceProtocol

/// The number of one of the app's `for await` loops.
struct ObserverID: Hashable, Sendable {
    let number: UInt64
}

/// The topic of an observer.
enum Topic: Hashable, Sendable {
    case presence(UserID)
    case profile(UserID)
    case user(UserID)
    /// The ids as given by the app, without duplicates. Malformed ids yield an error element.
    case roster([String])
    case typing(ConversationID)
    case connection
    case me
    case ownStatus
    case contactRequests
    case keptProfile

    /// The user, if the topic is about one.
    var user: UserID? {
        switch self {
        case .presence(let user), .profile(let user), .user(let user): user
        case .roster, .typing, .connection, .me, .ownStatus, .contactRequests, .keptProfile: nil
        }
    }

    /// The users that the topic needs subscriptions for.
    var users: [UserID] {
        switch self {
        case .presence(let user), .profile(let user), .user(let user): [user]
        case .roster(let users): users.compactMap(UserID.init)
        case .typing, .connection, .me, .ownStatus, .contactRequests, .keptProfile: []
        }
    }

    var conversation: ConversationID? {
        if case .typing(let conversation) = self { conversation } else { nil }
    }
}

/// One of the app's `for await` loops: its topic, and how far the app has read.
struct Observer: Sendable {
    let topic: Topic
    /// The stamp of the newest element that the app received; elements with larger stamps are new.
    var seen: UInt64 = 0
}
