import PresenceProtocol

/// The author of a call.
package enum HTTPCaller: Sendable, Equatable {
    /// The route needs no token, and the call had no valid token of a user.
    case anyone
    /// With the user's own token.
    case user(UserID)
    /// With a token of the installation, or a key with the call's scope: it may see and do everything that the call can.
    case backend
}

extension Route {
    /// Whether a caller has to send a token.
    static func needsToken(_ audience: Audience) -> Bool {
        switch audience {
        case .everyone, .usersOrAnyone, .admins: false
        case .clients, .users, .backends, .operators, .adminCalls: true
        }
    }
}
