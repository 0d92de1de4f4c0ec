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

    /// A user, and every change of them; ends when the user signs out.
    func userUpdates(of id: User.ID) -> AsyncStream<User>

    /// Changes the own user; without a connection the change is kept and made later.
    ///
    /// - Throws: ``UserError/invalid(field:reason:)``, ``UserError/updateFailed(reason:outcomeUnknown:)``.
    @discardableResult func update(_ changes: UserChanges) async throws -> UserUpdate

    /// Whether a user is here, and every change of that.
    func onlineUpdates(of id: User.ID) -> AsyncStream<Bool>

    /// Shows the own user as here, or as gone, on all their devices.
    func setOnline(_ isOnline: Bool) async throws
}

extension UserRepository {
    /// Changes the own user to be as `user` is: every member that a profile has.
    @discardableResult public func update(_ user: User) async throws -> UserUpdate {
        try await update(
            UserChanges(
                displayName: user.displayName, profileImageURL: .some(user.profileImageURL),
                timezone: .some(user.timezone), locale: .some(user.locale)))
    }
}

/// The users found, in the order asked, and the ids without one.
public struct Users: RandomAccessCollection, Hashable, Sendable {
    private var found: [User]
    /// In the order asked: users who do not exist or are hidden, and users that could not be read now.
    public var missing: [User.ID]
    /// Whether what was found is what was last known, because there is no connection.
    public var isStale: Bool

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
    public var displayName: String?
    public var profileImageURL: URL??
    public var timezone: String??
    public var locale: String??

    public init(
        displayName: String? = nil, profileImageURL: URL?? = nil, timezone: String?? = nil, locale: String?? = nil
    ) {
        self.displayName = displayName
        self.profileImageURL = profileImageURL
        self.timezone = timezone
        self.locale = locale
    }
}

/// What became of a change.
public enum UserUpdate: Hashable, Sendable {
    case saved(User)
    /// There is no connection: it is kept and made later.
    case queued
}
