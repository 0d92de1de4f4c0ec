import Foundation
import PresenceKit

extension PresenceClient {
    /// Creates a client for the user who is signed in with `account`, on the same server. It gets its tokens from the
    /// account, and closes with `unauthorized` while no user is signed in, or when the server has ended the session.
    /// While it is connected, ``PresenceAccount/states`` includes changes by other devices.
    ///
    /// The client follows the session. A sign-out deletes all data, as ``PresenceClient/signOut()``; a sign-in of
    /// another user changes the user, as ``PresenceClient/switchUser(token:)``. After a sign-in it connects again, if
    /// it was used before. If the server has ended the session, pending writes stay for the same user's next sign-in.
    public convenience init(
        account: PresenceAccount, device: Device = Device(), configuration: Configuration = Configuration(),
        storage: Storage = .memory(), logger: PresenceLogger? = nil
    ) {
        self.init(
            url: account.webSocketURL, token: account.tokenProvider(), device: device, configuration: configuration,
            storage: storage, logger: logger, listeners: ["ownAccount": account.listener])
        account.stateFeed.add(FollowingClient(self))
    }
}

extension PresenceAccount {
    /// Connects a client at each sign-in, beginning with that of a user who is signed in now. It follows the session.
    package nonisolated func connect(_ client: PresenceClient) {
        stateFeed.add(FollowingClient(client, connects: true))
    }
}

extension PresenceAccount {
    /// The WebSocket URL of the same server.
    public nonisolated var webSocketURL: URL {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.scheme = url.scheme?.lowercased() == "http" ? "ws" : "wss"
        return (parts?.url ?? url).appendingPathComponent("v1/ws")
    }

    /// Handles events of the user's account.
    package nonisolated var listener: PresenceClient.EventListener {
        { [weak self] event in
            // Events of a later server that this version cannot read are ignored.
            guard let event = try? HTTPServer.decoder.decode(Answer.OwnAccount.self, from: event) else { return }
            Task { await self?.heard(Account(event.account), version: event.version) }
        }
    }

    /// Returns a token provider for one ``PresenceKit/PresenceClient``. A client calls it again only when a token was
    /// rejected or is about to expire, and then gets another token.
    public nonisolated func tokenProvider() -> PresenceClient.TokenProvider {
        let given = Given()
        return {
            do {
                return try await given.next(self)
            } catch let error as PresenceError {
                throw error.asTokenError
            }
        }
    }
}

extension PresenceError {
    /// The error for the client. Without a signed-in user, the client stops its attempts; all other errors are
    /// temporary.
    fileprivate var asTokenError: PresenceError {
        if code == .notSignedIn || isRefusal { return PresenceError(.unauthorized, "no user is signed in") }
        let code: PresenceError.Code =
            switch code {
            case .notConnected, .connectionLost, .notAnAnswer: .notConnected
            case .rateLimited, .unavailable: .unavailable
            default: .tokenUnavailable
            }
        return PresenceError(code, "no token: \(self)", retryAfter: retryAfter)
    }
}

/// The last token given to a client.
private actor Given {
    private var last: String?

    func next(_ account: PresenceAccount) async throws -> String {
        var token = try await account.accessToken()
        if token == last { token = try await account.renew(insteadOf: token) }
        last = token
        return token
    }
}
