// What a view model needs of a client, in parts: a model names those that it uses, and a test gives it a fake of them.
// ``PresenceClient`` is all of them.

import Foundation

/// Observing and reading people.
public protocol PeopleService: Sendable {
    func presence(of user: String) -> PresenceUpdates<PersonPresence>
    func profile(of user: String) -> PresenceUpdates<PersonProfile>
    func updates(of user: String) -> PresenceUpdates<Person>
    func roster(of users: [String]) -> PresenceUpdates<Roster>
    func person(_ user: String) async throws -> Person?
    func people(_ users: [String]) async throws -> People
}

/// The own user.
public protocol MeService: Sendable {
    var meUpdates: PresenceUpdates<Me> { get }
    var statusUpdates: PresenceUpdates<MyStatus> { get }
    var pendingProfileUpdates: PresenceUpdates<PendingProfileChanges> { get }
    @discardableResult func setStatus(
        _ status: ChosenStatus, text: Change<String>, clearAfter: Duration?
    ) async throws -> ChoiceUpdate
    func setActivity(_ activity: Activity)
    @discardableResult func updateProfile(
        _ changes: ProfileChanges, offline: OfflinePolicy
    ) async throws -> ProfileUpdate
}

/// Who types in a conversation.
public protocol TypingService: Sendable {
    func typing(in conversation: String) -> PresenceUpdates<Typing>
    func startTyping(in conversation: String)
    func stopTyping(in conversation: String)
}

/// The connection and the app's life.
public protocol ConnectionService: Sendable {
    var connectionStates: PresenceUpdates<ConnectionState> { get }
    var connectionState: ConnectionState { get async }
    func connect()
    func disconnect() async
    func enterBackground()
    func enterForeground()
    func reconnectNow()
    func networkChanged(isAvailable: Bool)
    func signOut() async
    func switchUser(token: @escaping PresenceClient.TokenProvider) async
    func clearCache() async
    var serverTime: ServerTime { get async }
    var serverNow: Date { get async }
}

/// Making conversations.
public protocol ConversationService: Sendable {
    func createConversation(with others: [String]) async throws -> Conversation
    func createConversation(with others: [String], key: String) async throws -> Conversation
}

/// Who may see the user.
public protocol VisibilityService: Sendable {
    func setVisibility(presence: Audience?, lastSeen: Audience?, receipts: Audience?) async throws
    func visibility() async throws -> MyVisibility
    func addContacts(_ users: [String]) async throws
    func removeContacts(_ users: [String]) async throws
    func block(_ users: [String]) async throws
    func unblock(_ users: [String]) async throws
}

/// Everything that an app asks of a client after it is made.
public protocol PresenceService: PeopleService, MeService, TypingService, ConversationService, ConnectionService,
    VisibilityService
{}

extension MeService {
    @discardableResult public func setStatus(
        _ status: ChosenStatus, text: Change<String> = .keep
    ) async throws -> ChoiceUpdate {
        try await setStatus(status, text: text, clearAfter: nil)
    }

    @discardableResult public func updateProfile(_ changes: ProfileChanges) async throws -> ProfileUpdate {
        try await updateProfile(changes, offline: .queue)
    }
}

extension PresenceClient: PresenceService {}
