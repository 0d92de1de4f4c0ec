import PresenceKit

/// A client that follows who is signed in with an account.
struct FollowingClient {
    private(set) weak var client: PresenceClient?
    /// Whose what the client holds is: also after the server has ended their session.
    private var user: String?
    private var isSignedIn = false

    init(_ client: PresenceClient) { self.client = client }

    /// Tells the client of the present state of the account, if that is news.
    mutating func handle(_ state: AuthState) {
        switch state {
        case .restoring: break
        case .signedIn(let account, _):
            if let user, user != account.id {
                client?.userChanged()
            }
            if !isSignedIn { client?.userSignedIn() }
            (user, isSignedIn) = (account.id, true)
        // What waits is the user's, who is asked for the password now: it is sent when they have signed in.
        case .signedOut(.refused): isSignedIn = false
        case .signedOut:
            if user != nil { client?.userSignedOut() }
            (user, isSignedIn) = (nil, false)
        }
    }
}
