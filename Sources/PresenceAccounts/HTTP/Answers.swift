import Foundation
import PresenceKit

/// The objects in the server's responses.
enum Answer {
    struct Account: Decodable {
        var user: String
        /// Guests have none, nor have some accounts that a provider's token has created.
        var email: String?
        var emailVerified: Bool?
        var username: String?
        var setupCompleted: Bool?
        var preferredLanguage: String?
        var createdAt: Date?
    }

    struct Tokens: Decodable {
        var user: String
        var accessToken: String
        /// In milliseconds.
        var expiresIn: Double
        var refreshToken: String
        var account: Account
    }

    struct Me: Decodable {
        var account: Account
        var profile: FoundUser.Profile?
        var identities: [PresenceAccounts.Account.Identity]?
    }

    /// Without an account if a mail has to be confirmed first.
    struct Upgraded: Decodable {
        var account: Account?
        var profile: FoundUser.Profile?
    }

    struct AccountAlone: Decodable { var account: Account }

    /// The event of the WebSocket.
    struct OwnAccount: Decodable {
        var account: Account
        var version: Int64
    }

    struct Sessions: Decodable {
        struct Session: Decodable {
            var id: String
            var kind: String?
            var name: String?
            var createdAt: Date
            var lastUsedAt: Date
            var current: Bool?
        }
        var sessions: [Session]
    }

    struct Username: Decodable {
        var username: String
        var available: Bool
        var reason: String?
    }

    struct Photo: Decodable {
        var photoURL: String
        var thumbnailURL: String?
    }
}

extension Account {
    init(_ answer: Answer.Account) {
        self.init(
            id: answer.user, email: answer.email, emailVerified: answer.emailVerified ?? false,
            username: answer.username, setupCompleted: answer.setupCompleted ?? false,
            preferredLanguage: answer.preferredLanguage, createdAt: answer.createdAt ?? .distantPast)
    }

    /// With the profile.
    init(_ answer: Answer.Me) {
        self.init(answer.account)
        displayName = answer.profile?.displayName ?? ""
        profileImageURL = answer.profile?.photoURL.flatMap { URL(string: $0) }
    }
}

extension Account.Session {
    init(_ answer: Answer.Sessions.Session) {
        self.init(
            id: answer.id, kind: answer.kind ?? "", name: answer.name, createdAt: answer.createdAt,
            lastUsedAt: answer.lastUsedAt, isCurrent: answer.current ?? false)
    }
}

extension User {
    init(_ answer: Answer.Me) {
        let account = answer.account
        let profile = answer.profile
        self.init(
            id: account.user, email: account.email, displayName: profile?.displayName ?? "",
            username: account.username, profileImageURL: profile?.photoURL.flatMap { URL(string: $0) },
            timezone: profile?.timezone, locale: profile?.locale, preferredLanguage: account.preferredLanguage,
            isOnline: true, createdAt: account.createdAt ?? .distantPast)
    }
}
