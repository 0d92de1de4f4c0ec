import Foundation
import PresenceKit

extension PresenceClient {
    /// Makes a client for the user who is signed in with `account`, at the same server. It fetches its tokens there, and
    /// closes with `unauthorized` while nobody is signed in, and when the server has ended the session. While it is
    /// connected, ``PresenceAccount/states`` follows what other devices change.
    ///
    /// A sign-out of the account does not clear the client: call ``PresenceClient/signOut()`` too, or
    /// ``PresenceClient/switchUser(token:)`` with ``PresenceAccount/tokenProvider()`` for another user.
    public convenience init(
        account: PresenceAccount, device: Device = Device(), configuration: Configuration = Configuration(),
        storage: Storage = .memory(), logger: PresenceLogger? = nil
    ) {
        self.init(
            url: account.webSocketURL, token: account.tokenProvider(), device: device, configuration: configuration,
            storage: storage, logger: logger, listeners: ["ownAccount": account.listener])
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
            } catch let error as AccountError where error.code == .notSignedIn || error.isRefusal {
                throw PresenceError(.unauthorized, "nobody is signed in")
            }
        }
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
