import Foundation

/// Where users come from and go to: what a view model needs of them, whatever is behind it.
///
/// Its calls throw ``UserError``, or `CancellationError` when their task is cancelled.
public protocol UserRepository: Sendable {
    /// One user, from what is held if that is live, else from the server; without a connection as last known.
    ///
    /// - Throws: ``UserError/userNotFound(_:)``, ``UserError/fetchFailed(reason:)``.
    func user(_ id: User.ID) async throws -> User

    /// Many users: those found, and who is missing. That some are missing is no error.
    func users(_ ids: [User.ID]) async throws -> Users

    /// A user, and every change of them; ends when the user signs out. One who cannot be found any more, because they are
    /// hidden or gone, is offline and without a name.
    func userUpdates(of id: User.ID) -> AsyncStream<User>

    /// The same, and whether what is shown is only what was last known.
    func userStates(of id: User.ID) -> AsyncStream<UserState>

    /// Changes the own user; without a connection the change is kept and made later.
    ///
    /// - Throws: ``UserError/invalid(field:reason:)``, ``UserError/updateFailed(reason:outcomeUnknown:)``.
    @discardableResult func update(_ changes: UserChanges) async throws -> UserUpdate

    /// Why a change that was queued will not be made. What was refused is as it was before.
    var updateRefusals: AsyncStream<UserError> { get }

    /// Whether changes of the own user wait for a connection: how it is at once, then after each change. `false` after
    /// `true`: each was made or refused, and ``user(_:)`` has what came of it.
    var pendingUpdates: AsyncStream<Bool> { get }

    /// Whether a user is here, and every change of that.
    func onlineUpdates(of id: User.ID) -> AsyncStream<Bool>

    /// Shows the own user as here, or as gone, on all their devices.
    func setOnline(_ isOnline: Bool) async throws
}

extension UserRepository {
    /// For a repository that always has the newest.
    public func userStates(of id: User.ID) -> AsyncStream<UserState> {
        let users = userUpdates(of: id)
        return AsyncStream { states in
            for await user in users { states.yield(UserState(user: user)) }
        }
    }

    /// For a repository that queues nothing: it has no elements.
    public var updateRefusals: AsyncStream<UserError> { AsyncStream { $0.finish() } }

    /// For a repository that queues nothing, or does not say what becomes of it: it has no elements.
    public var pendingUpdates: AsyncStream<Bool> { AsyncStream { $0.finish() } }

    /// Changes the own user to be as `user` is: every member that a profile has.
    @discardableResult public func update(_ user: User) async throws -> UserUpdate {
        try await update(
            UserChanges(
                // Without a name there is none to save: it cannot be removed.
                displayName: user.displayName.isEmpty ? nil : user.displayName,
                profileImageURL: .some(user.profileImageURL),
                timezone: .some(user.timezone), locale: .some(user.locale)))
    }
}

/// A user as they are, or as they were last known.
public struct UserState: Codable, Hashable, Sendable {
    /// As they are, or were.
    public var user: User
    /// Whether it is what was last known: there is no connection, or no answer yet.
    public var isStale: Bool

    /// Puts a user and the staleness together; by default the user is live.
    public init(user: User, isStale: Bool = false) {
        self.user = user
        self.isStale = isStale
    }
}

/// The users found, in the order asked, and the ids without one.
public struct Users: RandomAccessCollection, Codable, Hashable, Sendable {
    private var found: [User]
    /// In the order asked: users who do not exist or are hidden, and users that could not be read now.
    public var missing: [User.ID]
    /// Whether what was found is what was last known, because there is no connection.
    public var isStale: Bool

    /// Makes an answer, as a repository of an app's own needs it.
    public init(_ found: [User], missing: [User.ID] = [], isStale: Bool = false) {
        self.found = found
        self.missing = missing
        self.isStale = isStale
    }

    public var startIndex: Int { found.startIndex }
    public var endIndex: Int { found.endIndex }
    public subscript(position: Int) -> User { found[position] }
}

/// What is to change of the own user. Outer `nil`: stays as it is; inner `nil`: is removed.
public struct UserChanges: Hashable, Sendable {
    /// The new name, 1 to 50 characters; a name cannot be removed.
    public var displayName: String?
    /// The new picture's address, https.
    public var profileImageURL: URL??
    /// IANA name, such as `Europe/Paris`.
    public var timezone: String??
    /// BCP 47, such as `pt-BR`.
    public var locale: String??

    /// Makes a change of the members that are given.
    public init(
        displayName: String? = nil, profileImageURL: URL?? = nil, timezone: String?? = nil, locale: String?? = nil
    ) {
        self.displayName = displayName
        self.profileImageURL = profileImageURL
        self.timezone = timezone
        self.locale = locale
    }
}

/// An object with the members that change; one that is removed is `null`.
extension UserChanges: Codable {
    private enum CodingKeys: String, CodingKey {
        case displayName, profileImageURL, timezone, locale
    }

    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func change<Value: Decodable>(_ key: CodingKeys) throws -> Value?? {
            guard members.contains(key) else { return nil }
            return .some(try members.decodeIfPresent(Value.self, forKey: key))
        }
        self.init(
            displayName: try members.decodeIfPresent(String.self, forKey: .displayName),
            profileImageURL: try change(.profileImageURL), timezone: try change(.timezone), locale: try change(.locale))
    }

    /// - Throws: what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(displayName, forKey: .displayName)
        // With the outer optional only, `nil` inside is written as null.
        if let profileImageURL { try members.encode(profileImageURL, forKey: .profileImageURL) }
        if let timezone { try members.encode(timezone, forKey: .timezone) }
        if let locale { try members.encode(locale, forKey: .locale) }
    }
}

/// What became of a change.
public enum UserUpdate: Codable, Hashable, Sendable {
    /// It is made; the own user as they are now.
    case saved(User)
    /// There is no connection: it is kept and made later.
    case queued
}
