import Foundation

/// Reads and changes users: what a view model needs, independent of the implementation.
///
/// Calls throw ``PresenceError``, or `CancellationError` if their task is cancelled.
public protocol UserRepository: Sendable {
    /// Returns a user: the value in memory if it is live, otherwise the server's; without a connection the last known
    /// value.
    ///
    /// - Throws: ``PresenceError/userNotFound(_:)``, or the reason for which the user could not be read.
    func user(_ id: User.ID) async throws -> User

    /// Returns the users found, and the ids of the others. Missing users are no error.
    func users(_ ids: [User.ID]) async throws -> Users

    /// Observes a user; ends when the signed-in user signs out. A user who is not found, because they do not exist, are
    /// hidden or deleted, is offline and has no name.
    func userUpdates(of id: User.ID) -> AsyncStream<User>

    /// Observes a user, including whether they were found, and whether the value is only the last known one.
    func userStates(of id: User.ID) -> AsyncStream<User.State>

    /// Changes the signed-in user. Without a connection the change is queued.
    ///
    /// - Throws: `validationFailed` with the invalid member, or the reason for which the change could not be made.
    @discardableResult func update(_ changes: ProfileChanges) async throws -> ProfileUpdate<User>

    /// Observes the rejections of queued changes. The rejected members keep their former values.
    var updateRefusals: AsyncStream<PresenceError> { get }

    /// Observes whether changes of the signed-in user are queued: the current value at once, then each change. When it
    /// becomes `false`, each change was made or rejected, and ``user(_:)`` has the result.
    var pendingUpdates: AsyncStream<Bool> { get }

    /// Observes whether a user is online.
    func onlineUpdates(of id: User.ID) -> AsyncStream<Bool>

    /// Shows the signed-in user as online or offline, for all their devices.
    func setOnline(_ isOnline: Bool) async throws
}

extension UserRepository {
    /// For a repository whose values are always live.
    public func userStates(of id: User.ID) -> AsyncStream<User.State> {
        let users = userUpdates(of: id)
        return AsyncStream { states in
            for await user in users { states.yield(User.State(user: user)) }
        }
    }

    /// For a repository that never queues: has no elements.
    public var updateRefusals: AsyncStream<PresenceError> { AsyncStream { $0.finish() } }

    /// For a repository that never queues, or does not report the outcome: has no elements.
    public var pendingUpdates: AsyncStream<Bool> { AsyncStream { $0.finish() } }

    /// Sets all profile members of the signed-in user to those of `user`.
    @discardableResult public func update(_ user: User) async throws -> ProfileUpdate<User> {
        try await update(
            ProfileChanges(
                // A name cannot be removed, so an empty one is not sent.
                displayName: user.displayName.isEmpty ? .keep : .set(user.displayName),
                photoURL: Change(user.profileImageURL), timezone: Change(user.timezone), locale: Change(user.locale)))
    }
}

extension User {
    /// A user, with the freshness of the value.
    public struct State: Codable, Hashable, Sendable {
        /// The current or last known value.
        public var user: User
        /// Whether the value is only the last known one: there is no connection, or no reply yet.
        public var isStale: Bool
        /// Whether the user was found. Users who do not exist and hidden users are not.
        public var isFound: Bool

        /// Creates a state; by default the user is found and live.
        public init(user: User, isStale: Bool = false, isFound: Bool = true) {
            (self.user, self.isStale, self.isFound) = (user, isStale, isFound)
        }

        /// A state that an earlier version encoded has a found user.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                user: try members.decode(User.self, forKey: .user),
                isStale: try members.decode(Bool.self, forKey: .isStale),
                isFound: try members.decodeIfPresent(Bool.self, forKey: .isFound) ?? true)
        }
    }
}

/// The users found, in the requested order, and the ids of the others.
public struct Users: RandomAccessCollection, Codable, Hashable, Sendable {
    private var found: [User]
    /// The ids without a user, in the requested order: users who do not exist or are hidden, and users that could not
    /// be read.
    public var missing: [User.ID]
    /// Whether the users found are only the last known values, because there is no connection.
    public var isStale: Bool

    /// Creates a result, for an app's own repository.
    public init(_ found: [User], missing: [User.ID] = [], isStale: Bool = false) {
        (self.found, self.missing, self.isStale) = (found, missing, isStale)
    }

    public var startIndex: Int { found.startIndex }
    public var endIndex: Int { found.endIndex }
    public subscript(position: Int) -> User { found[position] }
}
