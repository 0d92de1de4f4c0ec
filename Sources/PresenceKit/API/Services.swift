// What a view model needs of a client, in parts: a model names those that it uses, and a test gives it a fake of them.
// ``PresenceClient`` is all of them.

import Foundation

/// Observing and reading people.
public protocol PeopleService: Sendable {
    /// Whether one person is here, and every change of it: see ``PresenceClient/presence(of:)``.
    func presence(of user: String) -> PresenceUpdates<PersonPresence>
    /// The profile of one person, and every change of it: see ``PresenceClient/profile(of:)``.
    func profile(of user: String) -> PresenceUpdates<PersonProfile>
    /// Both of one person: see ``PresenceClient/updates(of:)``.
    func updates(of user: String) -> PresenceUpdates<Person>
    /// Many people as one sequence: see ``PresenceClient/roster(of:)``.
    func roster(of users: [String]) -> PresenceUpdates<Roster>
    /// One person as they are now; `nil` if nothing is known of them. It throws as ``PresenceClient/person(_:)`` does.
    func person(_ user: String) async throws -> Person?
    /// Many people as they are now, and who is missing. It throws `invalidID` for a malformed id: see
    /// ``PresenceClient/people(_:)``.
    func people(_ users: [String]) async throws -> People
}

/// The own user.
public protocol MeService: Sendable {
    /// The own user, and every change from whichever device; it ends with a sign-out.
    var meUpdates: PresenceUpdates<Me> { get }
    /// What the user chose for all their devices, and every change of it.
    var statusUpdates: PresenceUpdates<MyStatus> { get }
    /// The profile changes that wait for a connection, and what was refused of them.
    var pendingProfileUpdates: PresenceUpdates<PendingProfileChanges> { get }
    /// Chooses the status of the user on all their devices; offline it is queued. It throws as
    /// ``PresenceClient/setStatus(_:text:clearAfter:)`` does.
    @discardableResult func setStatus(
        _ status: ChosenStatus, text: Change<String>, clearAfter: Duration?
    ) async throws -> ChoiceUpdate
    /// Says what the user of this device is doing; it returns at once.
    func setActivity(_ activity: Activity)
    /// Changes the own profile: all of the changes, or none. It throws as ``PresenceClient/updateProfile(_:offline:)``
    /// does.
    @discardableResult func updateProfile(
        _ changes: ProfileChanges, offline: OfflinePolicy
    ) async throws -> ProfileUpdate
}

/// Who types in a conversation.
public protocol TypingService: Sendable {
    /// Who types in a conversation, without the own user; nobody while there is no connection.
    func typing(in conversation: String) -> PresenceUpdates<Typing>
    /// Shows the user typing until ``stopTyping(in:)``; it returns at once and may be called at every key press.
    func startTyping(in conversation: String)
    /// Shows the user typing no more; it returns at once.
    func stopTyping(in conversation: String)
}

/// The connection and the app's life.
public protocol ConnectionService: Sendable {
    /// How the connection is, and every change of it; it outlives a sign-out.
    var connectionStates: PresenceUpdates<ConnectionState> { get }
    /// How the connection is now.
    var connectionState: ConnectionState { get async }
    /// Connects, if there is no connection and none is being made; needed after a closing only.
    func connect()
    /// Disconnects: others see the user offline at once. Sequences stay, stale.
    func disconnect() async
    /// The app went to the background: the user counts as idle here.
    func enterBackground()
    /// The app is in front again: a connection that did not survive is replaced.
    func enterForeground()
    /// The network changed: replaces the connection without waiting.
    func reconnectNow()
    /// Tells whether the system has a network.
    func networkChanged(isAvailable: Bool)
    /// Disconnects, forgets everything, and ends all sequences but ``connectionStates``.
    func signOut() async
    /// Goes on as another user: everything held for the former one is forgotten, and sequences go on.
    func switchUser(token: @escaping PresenceClient.TokenProvider) async
    /// Forgets everybody who is not observed just now; queued writes stay.
    func clearCache() async
    /// The server's clock as far as it is known now.
    var serverTime: ServerTime { get async }
    /// The date by the server's clock, to compare the dates of elements with.
    var serverNow: Date { get async }
}

/// Making conversations.
public protocol ConversationService: Sendable {
    /// Makes a conversation of the own user with others, once, also if the connection breaks. It throws as
    /// ``PresenceClient/createConversation(with:)`` does.
    func createConversation(with others: [String]) async throws -> Conversation
    /// The same with a key of the user's own, which finds a conversation that was made with it. It throws as
    /// ``PresenceClient/createConversation(with:key:)`` does.
    func createConversation(with others: [String], key: String) async throws -> Conversation
}

/// Who may see the user.
public protocol VisibilityService: Sendable {
    /// Chooses who may see the user; `nil` stays as it is. It needs a connection, and throws as
    /// ``PresenceClient/setVisibility(presence:lastSeen:receipts:)`` does.
    func setVisibility(presence: Audience?, lastSeen: Audience?, receipts: Audience?) async throws
    /// Who may see the user, and the user's lists, as the server has them now; it needs a connection.
    func visibility() async throws -> MyVisibility
    /// Lists people as contacts; it needs a connection, and throws `invalidID` for a malformed id and `tooMany` beyond
    /// the server's limit.
    func addContacts(_ users: [String]) async throws
    /// Takes people off the contacts. Who is not on the list stays off it.
    func removeContacts(_ users: [String]) async throws
    /// Blocks people: the user looks unknown to them. They are not told.
    func block(_ users: [String]) async throws
    /// Takes ``block(_:)`` back.
    func unblock(_ users: [String]) async throws
}

/// Everything that an app asks of a client after it is made.
public protocol PresenceService: PeopleService, MeService, TypingService, ConversationService, ConnectionService,
    VisibilityService
{}

extension MeService {
    /// The same without a time after which the status is cleared.
    @discardableResult public func setStatus(
        _ status: ChosenStatus, text: Change<String> = .keep
    ) async throws -> ChoiceUpdate {
        try await setStatus(status, text: text, clearAfter: nil)
    }

    /// The same, queued if there is no connection.
    @discardableResult public func updateProfile(_ changes: ProfileChanges) async throws -> ProfileUpdate {
        try await updateProfile(changes, offline: .queue)
    }
}

extension PresenceClient: PresenceService {}
