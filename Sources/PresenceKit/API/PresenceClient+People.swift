import Foundation

// Finding people.
extension PresenceClient {
    /// Finds a user by username.
    ///
    /// - Returns: the user's id, with name and picture if they may be seen, and always offline; `nil` if the username
    ///   has no owner, or one who does not let this user find them.
    /// - Throws: `rateLimited` beyond some 60 calls a minute, those of ``users(startingWith:limit:)`` included.
    public func user(named username: String) async throws -> User? {
        guard User.UsernameRule.fault(in: username) == nil else { return nil }
        let path = "v1/usernames/\(HTTPServer.escaped(username))/user"
        do {
            return User(try await send(.init("GET", path, isRepeatable: true), as: FoundUser.self))
        } catch let error as PresenceError where error.code == .notOffered {
            return nil
        }
    }

    /// Finds users whose username or display name begins with a text, in any case, on a server with
    /// `accounts.directory`. Users whom this user could not find by username are omitted.
    ///
    /// - Parameters:
    ///   - text: 2 to 64 bytes.
    ///   - limit: 1 to 20.
    /// - Returns: users as ``user(named:)`` does, sorted by the names that were found.
    /// - Throws: `validationFailed` with the field `starts` or `limit`; `notOffered` if the server has no directory;
    ///   `rateLimited`.
    public func users(startingWith text: String, limit: Int = 10) async throws -> [User] {
        struct Answer: Decodable { var people: [FoundUser] }
        let path = "v1/people?starts=\(HTTPServer.escaped(text))&limit=\(limit)"
        return try await send(.init("GET", path, isRepeatable: true), as: Answer.self).people.map(User.init)
    }
}

/// A user who was found. The profile is missing if it may not be seen.
package struct FoundUser: Decodable, Sendable {
    package struct Profile: Decodable, Sendable {
        package var displayName: String?
        package var username: String?
        package var photoURL: String?
        package var timezone: String?
        package var locale: String?
        package var createdAt: Date?
    }

    var user: String
    var profile: Profile?
}

extension User {
    package init(_ found: FoundUser) {
        let profile = found.profile
        self.init(
            id: found.user, displayName: profile?.displayName ?? "", username: profile?.username,
            profileImageURL: profile?.photoURL.flatMap { URL(string: $0) }, timezone: profile?.timezone,
            locale: profile?.locale, lastSeen: .distantPast, createdAt: profile?.createdAt ?? .distantPast)
    }
}
