import Foundation
import PresenceKit

extension PresenceClient {
    /// Makes a client for the user who is signed in with `account`, at the same server. It fetches its tokens there, and
    /// closes with `unauthorized` while nobody is signed in, and when the server has ended the session. While it is
    /// connected, ``PresenceAccount/states`` follows what other devices change.
    ///
    /// It follows who is signed in. A sign-out forgets everything, as ``PresenceClient/signOut()``; if another user signs in,
    /// it goes on as that one, as after ``PresenceClient/switchUser(token:)``. After a sign-in it connects again, if it was
    /// used before. Where the server has ended the session, what waits to be sent stays for the same user's next sign-in.
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
    /// The address of the same server's WebSocket.
    public nonisolated var webSocketURL: URL {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        parts?.scheme = url.scheme?.lowercased() == "http" ? "ws" : "wss"
        return (parts?.url ?? url).appendingPathComponent("v1/ws")
    }

    /// Takes the events of the own account.
    nonisolated var listener: PresenceClient.EventListener {
        { [weak self] event in
            // What a later server says otherwise is no news to this version.
            guard let event = try? AccountServer.decoder.decode(Answer.OwnAccount.self, from: event) else { return }
            Task { await self?.heard(Account(event.account), version: event.version) }
        }
    }

    /// What fetches tokens for one ``PresenceKit/PresenceClient``. A client asks again only when a token is refused or
    /// about to expire: then it gets another one.
    public nonisolated func tokenProvider() -> PresenceClient.TokenProvider {
        let given = Given()
        return {
            do {
                return try await given.next(self)
            } catch let error as AccountError {
                throw error.asTokenError
            }
        }
    }
}

extension AccountError {
    /// Why there is no token now. That nobody is signed in ends the client's attempts; all else passes.
    fileprivate var asTokenError: PresenceError {
        if code == .notSignedIn || isRefusal { return PresenceError(.unauthorized, "nobody is signed in") }
        let code: PresenceError.Code =
            switch code {
            case .notConnected, .connectionLost, .notAnAnswer: .notConnected
            case .rateLimited, .unavailable: .unavailable
            default: .tokenUnavailable
            }
        return PresenceError(code, "no token: \(self)", retryAfter: retryAfter)
    }
}

/// The token that a client was given last.
private actor Given {
    private var last: String?

    func next(_ account: PresenceAccount) async throws -> String {
        var token = try await account.accessToken()
        if token == last { token = try await account.renew(insteadOf: token) }
        last = token
        return token
    }
}
