import Foundation

// Contact requests, on a server with `contactRequests`.
extension PresenceClient {
    /// Observes the users who ask this user to be contacts, oldest first, with the answers of all devices. The first
    /// element comes with the first connection.
    public var contactRequests: PresenceUpdates<[Me.ContactRequest]> {
        PresenceUpdates(.topic(self, .contactRequests, read: { $0.nextContactRequests($1) }))
    }

    /// Asks a user to be a contact. If they accept, each is a contact of the other, which ``Me/Audiences/contactsCount``
    /// shows. It also succeeds if they do not see the request: they may hide from this user, have refused them within 30
    /// days, or not exist. If they have asked before, both are contacts at once.
    ///
    /// - Parameter text: 1 to 140 characters.
    /// - Throws: `validationFailed` with the field `user` (the user themselves) or `text`; `forbidden` if this user blocks
    ///   the other; `tooMany` if 100 requests have no answer; `rateLimited`; `refused` for a blocked word;
    ///   `notOffered` if the server has no requests; `notConnected`, `connectionLost`.
    public func requestContact(_ user: String, text: String? = nil) async throws {
        struct Members: Encodable {
            var user: String
            var text: String?
        }
        try await request("requestContact", Members(user: try Self.checked(user), text: text))
    }

    /// Accepts or refuses the request of a user, be it to be a contact or to begin a conversation
    /// (``setVisibility(presence:lastSeen:receipts:findable:conversationsFrom:)``). A refusal looks to them as if there
    /// were no answer.
    ///
    /// - Throws: `notFound` if there is no request any more; `tooMany` if the contacts are full; otherwise as
    ///   ``requestContact(_:text:)``.
    public func answerContact(_ user: String, accept: Bool) async throws {
        struct Members: Encodable {
            var user: String
            var accept: Bool
        }
        try await request("answerContact", Members(user: try Self.checked(user), accept: accept))
    }

    private static func checked(_ user: String) throws(PresenceError) -> String {
        guard isValidID(user) else { throw .invalidID(user) }
        return user
    }

    private func request(_ type: String, _ members: some Encodable) async throws {
        let number = await runner.inspect { $0.userNumber }
        do throws(PresenceError) {
            // Cannot fail: texts and a flag.
            _ = try await ask(type: type, members: try! JSONEncoder().encode(members), of: number)
        } catch {
            throw error.code == .unknownType ? PresenceError(.notOffered, error.message) : error.thrown
        }
    }
}
