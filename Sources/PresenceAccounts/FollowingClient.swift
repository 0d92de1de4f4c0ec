import PresenceKit

/// A client that follows the session of an account.
struct FollowingClient {
    private(set) weak var client: PresenceClient?
    /// The signed-in user of this process. The client itself knows whose data it has, also after a launch.
    private var user: String?
    /// Whether each sign-in connects the client, also one that was never used.
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
            guard user != account.id else { return }
            user = account.id
            client?.userSignedIn(account.id)
            if connects { client?.connect() }
        // Pending writes belong to the user, who will be asked for the password: they are sent after the next sign-in.
        case .signedOut(.refused): user = nil
        // At launch: the user may have been refused by an earlier process.
        case .signedOut(.notSignedIn) where user == nil: break
        case .signedOut:
            client?.userSignedOut()
            user = nil
        }
    }
}
