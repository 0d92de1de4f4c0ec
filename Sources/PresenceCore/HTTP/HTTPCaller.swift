import PresenceProtocol

/// Who makes a call.
package enum HTTPCaller: Sendable, Equatable {
    /// The route needs no token, and there was none of a user's that is good.
    case anyone
    /// By the user's own token.
    case user(UserID)
    /// By a token of the installation's: it may see and do everything.
    case backend
}

extension Route {
    /// Whether a caller has to show a token.
    static func needsToken(_ audience: Audience) -> Bool {
        switch audience {
        case .everyone, .usersOrAnyone, .admins: false
        case .clients, .users, .backends, .operators: true
        }
    }
}
