import EventLoops
import Foundation
import TestSupport

@testable import PresenceAccounts
@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// The parts that the apps of one device share: servers, the stored session, the clock.
struct AppScene {
    let server: InMemoryServer
    let sessions = FakeTokenStore()
    let clock = TestClock()

    init(_ server: InMemoryServer = InMemoryServer.with(["c1": ["ana", "bob"]])) { self.server = server }

    /// A server of accounts: the user is the name in the e-mail, which is also the refresh token.
    static let transport = FakeHTTPTransport { request in
        guard request.method == "POST" else { return HTTPResponse(status: 204) }
        let body = try JSONSerialization.jsonObject(with: request.body ?? Data()) as? [String: Any]
        let name = body?["email"] as? String ?? body?["refreshToken"] as? String ?? ""
        let user = name.prefix { $0 != "@" }
        let token = "h.\(Data(#"{"sub":"\#(user)"}"#.utf8).base64EncodedString()).s"
        return .json(
            #"{"user":"\#(user)","accessToken":"\#(token)","refreshToken":"\#(user)","expiresIn":3600000,"account":{"user":"\#(user)","email":"\#(user)@x.org"}}"#
        )
    }

    func app(_ storage: Storage = .memory(), transport: FakeHTTPTransport = AppScene.transport) -> PresenceApp {
        let account = PresenceAccount(
            url: URL(string: "https://example.org")!, store: sessions, transport: transport)
        var configuration = PresenceClient.Configuration()
        configuration.reconnectBase = .milliseconds(2)
        configuration.reconnectCap = .milliseconds(5)
        configuration.followsSystem = false
        let client = PresenceClient(
            url: account.webSocketURL, token: account.tokenProvider(), device: Device(), configuration: configuration,
            storage: storage, dialler: server, time: SystemTime(), random: { 0.5 })
        let messages = PresenceMessenger(client, transport: transport, clock: clock)
        return PresenceApp(account: account, client: client, messages: messages)
    }

    func signIn(_ user: String, _ app: PresenceApp) async throws {
        try await app.account.signIn(email: "\(user)@x.org", password: "correct horse")
    }

    func states(_ app: PresenceApp, until isWanted: (ConnectionState) -> Bool) async {
        for await state in app.client.connectionStates where isWanted(state) { return }
    }
}
