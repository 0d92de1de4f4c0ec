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

    /// Whether a user is here, and every change of that.
    func onlineUpdates(of id: User.ID) -> AsyncStream<Bool>

    /// Shows the own user as here, or as gone, on all their devices.
    func setOnline(_ isOnline: Bool) async throws
}

extension UserRepository {
    /// For a repository that always has the newest.
    public func userStates(of id: User.ID) -> AsyncStream<UserState> {
        let users = userUpdates(of: id)
        let (stream, states) = AsyncStream.makeStream(of: UserState.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            for await user in users { states.yield(UserState(user: user)) }
            states.finish()
        }
        states.onTermination = { _ in task.cancel() }
        return stream
    }

    /// For a repository that queues nothing.
    public var updateRefusals: AsyncStream<UserError> { AsyncStream { $0.finish() } }

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
public struct UserState: Hashable, Sendable {
    public var user: User
    /// Whether it is what was last known: there is no connection, or no answer yet.
    public var isStale: Bool

    public init(user: User, isStale: Bool = false) {
        self.user = user
        self.isStale = isStale
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
