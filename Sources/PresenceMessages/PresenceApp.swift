import Foundation

/// All parts of an app on one server: the account, presence, messages and notifications, created and closed together.
///
/// ```swift
/// let app = PresenceApp(url: URL(string: "https://presence.example.org")!, storage: try .standard())
/// try await app.account.signIn(email: "ana@example.org", password: "correct horse")
/// for await list in app.messages.conversationList { show(list) }
/// ```
///
/// - While a user is signed in, the client is connected: after a launch with the stored session, and after each
///   sign-in.
/// - A sign-out of the account deletes all data of the user on this device and disconnects.
/// - A sign-in of another user deletes the former user's data and connects as the new one. Sequences continue.
/// - If the server has ended the session, pending writes stay for the same user's next sign-in.
///
/// An app creates one object and keeps it. An app without accounts or without messages creates only the parts that it
/// needs.
public final class PresenceApp: Sendable {
    /// Sign-up, sign-in and sign-out, and the signed-in user's account.
    public let account: PresenceAccount
    /// Presence, profiles, typing, and the connection.
    public let client: PresenceClient
    /// Conversations and messages.
    public let messages: PresenceMessenger
    /// The notifications of the app's backend.
    public let notifications: PresenceNotifications

    /// Creates the parts, and starts to read the stored session.
    ///
    /// - Parameters:
    ///   - url: the server's URL, such as `https://presence.example.org`, without a path of the API.
    ///   - storage: stores the last known data of users and pending writes.
    ///   - sessions: stores the session.
    ///   - device: the kind and name of this device.
    ///   - accountConfiguration: timeouts of the account.
    ///   - clientConfiguration: timeouts and limits of the client.
    ///   - messagesConfiguration: the server of uploads, their timeout, and how much history stays on the device.
    ///   - logger: receives log lines; `nil` logs nothing.
    public convenience init(
        url: URL, storage: Storage, sessions: SessionStore = .standard(), device: Device = Device(),
        accountConfiguration: PresenceAccount.Configuration = PresenceAccount.Configuration(),
        clientConfiguration: PresenceClient.Configuration = PresenceClient.Configuration(),
        messagesConfiguration: PresenceMessenger.Configuration = PresenceMessenger.Configuration(),
        logger: PresenceLogger? = nil
    ) {
        let account = PresenceAccount(
            url: url, store: sessions, device: device, configuration: accountConfiguration, logger: logger)
        let client = PresenceClient(
            url: account.webSocketURL, token: account.tokenProvider(), device: device,
            configuration: clientConfiguration, storage: storage, logger: logger,
            listeners: ["ownAccount": account.listener])
        self.init(
            account: account, client: client,
            messages: PresenceMessenger(client, configuration: messagesConfiguration))
    }

    /// With parts of a test.
    package init(account: PresenceAccount, client: PresenceClient, messages: PresenceMessenger) {
        (self.account, self.client, self.messages) = (account, client, messages)
        notifications = PresenceNotifications(client)
        account.connect(client)
    }

    /// Disconnects for good, ends all sequences, uploads and requests, and closes the storage. Once this returns, nothing of
    /// this object runs, and another one can use the directory and the session. The session and all data stay on the
    /// device. Sequences end, except the client's `connectionStates`; later calls throw `notConnected`.
    public func close() async {
        await account.close()
        await client.close()
    }
}
