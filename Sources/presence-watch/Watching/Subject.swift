import PresenceKit
import TerminalClients

/// The watched users and conversations, and the server.
struct Subject: Hashable, Sendable {
    /// In the requested order.
    let users: [String]
    let conversations: [String]
    let address: ServerAddress
    let token: TokenSource

    init(
        users: [String], conversations: [String], address: ServerAddress, token: TokenSource
    ) throws(Failure) {
        for user in users where !PresenceClient.isValidID(user) { throw Self.noID(user, "a user") }
        for conversation in conversations where !PresenceClient.isValidID(conversation) {
            throw Self.noID(conversation, "a conversation")
        }
        self.users = users
        self.conversations = conversations
        self.address = address
        self.token = token
    }

    private static func noID(_ text: String, _ what: String) -> Failure {
        let shown = text.utf8.count > 128 ? Label(String(text.prefix(20))).text + "…" : Label(text).text
        return Failure(.usage, "\"\(shown)\" is not the id of \(what): 1 to 128 ASCII characters without space")
    }
}
