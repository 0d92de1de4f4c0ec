import PresenceKit

/// A client that follows the session of an account.
struct FollowingClient {
    private(set) weak var client: PresenceClient?
    /// The user whose data the client has, also after the server has ended their session.
    private var user: String?
    private var isSignedIn = false
    /// Whether each sign-in connects the client, even if the app has never used the client.
    private let connects: Bool

    init(_ client: PresenceClient, connects: Bool = false) {
        self.client = client
        self.connects = connects
    }

    /// Notifies the client of the account's state, if it changed.
    mutating func handle(_ state: AuthState) {
        switch state {
        case .restoring: break
        case .signedIn(let account, _):
            if let user, user != account.id {
                client?.userChanged()
            }
            if !isSignedIn {
                client?.userSignedIn()
                if connects { client?.connect() }
            }
            (user, isSignedIn) = (account.id, true)
        // Pending writes belong to the user, who will be asked for the password: they are sent after the next sign-in.
        case .signedOut(.refused): isSignedIn = false
        case .signedOut:
            if user != nil { client?.userSignedOut() }
            (user, isSignedIn) = (nil, false)
        }
    }
}
