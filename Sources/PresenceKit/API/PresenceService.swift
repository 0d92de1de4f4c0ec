import Foundation

/// The interface of a client: ``PresenceClient``, or a fake in the tests of view models.
public protocol PresenceService: Sendable {
    // MARK: Users

    /// Observes the presence of one user: see ``PresenceClient/presence(of:)``.
    func presence(of user: String) -> PresenceUpdates<PersonPresence>
    /// Observes the profile of one user: see ``PresenceClient/profile(of:)``.
    func profile(of user: String) -> PresenceUpdates<PersonProfile>
    /// Observes presence and profile of one user: see ``PresenceClient/updates(of:)``.
    func updates(of user: String) -> PresenceUpdates<Person>
    /// Observes many users as one sequence: see ``PresenceClient/roster(of:)``.
    func roster(of users: [String]) -> PresenceUpdates<Roster>
    /// Returns the current value of one user, or `nil` if none is known. Throws like ``PresenceClient/person(_:)``.
    func person(_ user: String) async throws -> Person?
    /// Returns the current values of many users, and the ids of those without one. Throws `invalidID` for a malformed
    /// id: see ``PresenceClient/people(_:)``.
    func people(_ users: [String]) async throws -> People

    // MARK: The signed-in user

    /// Observes the signed-in user, with changes from all devices. Ends with a sign-out.
    var meUpdates: PresenceUpdates<Me> { get }
    /// Observes the status that the user chose for all their devices.
    var statusUpdates: PresenceUpdates<MyStatus> { get }
    /// Observes the pending profile changes and their rejections.
    var pendingProfileUpdates: PresenceUpdates<PendingProfileChanges> { get }
    /// Sets the user's status for all their devices; it is queued while offline. Throws like
    /// ``PresenceClient/setStatus(_:text:clearAfter:)``.
    @discardableResult func setStatus(
        _ status: ChosenStatus, text: Change<String>, clearAfter: Duration?
    ) async throws -> ChoiceUpdate
    /// Sets the user's activity on this device; returns at once.
    func setActivity(_ activity: Activity)
    /// Changes the user's own profile: all of the changes or none. Throws like
    /// ``PresenceClient/updateProfile(_:offline:)``.
    @discardableResult func updateProfile(
        _ changes: ProfileChanges, offline: OfflinePolicy
    ) async throws -> ProfileUpdate<PersonProfile>

    // MARK: Typing

    /// Observes the users who are typing, without the signed-in user; empty while there is no connection.
    func typing(in conversation: String) -> PresenceUpdates<Typing>
    /// Shows the user as typing until ``stopTyping(in:)``. Returns at once and may be called on every key press.
    func startTyping(in conversation: String)
    /// Stops showing the user as typing; returns at once.
    func stopTyping(in conversation: String)

    // MARK: The connection and the lifecycle of the app

    /// Observes the state of the connection; continues after a sign-out.
    var connectionStates: PresenceUpdates<ConnectionState> { get }
    /// The current state of the connection.
    var connectionState: ConnectionState { get async }
    /// Connects, unless the client is connected or connecting. Only needed after the client was closed.
    func connect()
    /// Disconnects: others see the user offline at once. Sequences continue, stale.
    func disconnect() async
    /// The app entered the background: the user counts as idle on this device.
    func enterBackground()
    /// The app returned to the foreground: a connection that did not survive is replaced.
    func enterForeground()
    /// Replaces the connection at once. Call it when the network changed.
    func reconnectNow()
    /// Reports whether the device has a network.
    func networkChanged(isAvailable: Bool)
    /// Disconnects, deletes all data, and ends all sequences except ``connectionStates``.
    func signOut() async
    /// Changes the user: all data of the former one is deleted, and sequences continue.
    func switchUser(token: @escaping PresenceClient.TokenProvider) async
    /// Removes all users who are not being observed; queued writes stay.
    func clearCache() async
    /// The server's clock as known now.
    var serverTime: ServerTime { get async }
    /// The current date by the server's clock. Compare the dates of elements with it.
    var serverNow: Date { get async }

    // MARK: Conversations

    /// Creates a conversation of the signed-in user with others, once even if the connection breaks. Throws like
    /// ``PresenceClient/createConversation(with:)``.
    func createConversation(with others: [String]) async throws -> Conversation
    /// Creates a conversation with a key of the user's own, or returns the one created before with this key. Throws
    /// like ``PresenceClient/createConversation(with:key:)``.
    func createConversation(with others: [String], key: String) async throws -> Conversation

    // MARK: Visibility

    /// Sets who may see the user; `nil` keeps a setting. It needs a connection, and throws like
    /// ``PresenceClient/setVisibility(presence:lastSeen:receipts:findable:)``.
    func setVisibility(
        presence: Audience?, lastSeen: Audience?, receipts: Audience?, findable: Audience?
    ) async throws
    /// Reads the user's visibility settings and lists from the server; it needs a connection.
    func visibility() async throws -> MyVisibility
    /// Adds users to the contacts; it needs a connection. Throws `invalidID` for a malformed id and `tooMany` beyond
    /// the server's limit.
    func addContacts(_ users: [String]) async throws
    /// Removes users from the contacts; ids that are not on the list are ignored.
    func removeContacts(_ users: [String]) async throws
    /// Blocks users: this user looks unknown to them. They are not notified.
    func block(_ users: [String]) async throws
    /// Unblocks users.
    func unblock(_ users: [String]) async throws
}

extension PresenceService {
    /// Sets the status without a time after which it is cleared.
    @discardableResult public func setStatus(
        _ status: ChosenStatus, text: Change<String> = .keep
    ) async throws -> ChoiceUpdate {
        try await setStatus(status, text: text, clearAfter: nil)
    }

    /// Changes the profile; the change is queued if there is no connection.
    @discardableResult public func updateProfile(_ changes: ProfileChanges) async throws -> ProfileUpdate<PersonProfile>
    {
        try await updateProfile(changes, offline: .queue)
    }
}

extension PresenceClient: PresenceService {}
