import Foundation
import PresenceProtocol

extension PresenceClient {
    // MARK: People

    /// One person as they are now, or `nil` if nothing is known of them: a missing user and a hidden one look alike.
    ///
    /// Somebody observed is answered from what is held. While there is no connection, the cache answers, marked stale.
    public func get(_ user: String) async throws(PresenceError) -> Person? {
        try await get(CollectionOfOne(user)).first
    }

    /// The known ones of `users`, as they are now, in the order asked, however many.
    ///
    /// While there is no connection, the cache answers, marked stale, if it holds all of them; else the call waits
    /// for a connection until ``Configuration/requestTimeout``.
    public func get(_ users: some Sequence<String>) async throws(PresenceError) -> [Person] {
        var seen: Set<String> = []
        let unique = users.filter { seen.insert($0).inserted }
        let ids = try Self.identifiers(unique)
        guard case .people(let people) = try await ask(.get(ids)) else { preconditionFailure("not an answer to get") }
        return people.filter(\.isFound)
    }

    // MARK: The own user

    /// Chooses the status of the user, on all their devices, until they choose another.
    ///
    /// While there is no connection the newest status is kept and holds from the first moment of the next one; the
    /// call waits for that, and if it takes longer than ``Configuration/requestTimeout`` it throws `timedOut` with
    /// `outcomeUnknown`, and the status is sent all the same.
    ///
    /// - Parameters:
    ///   - status: what others see, or `auto` for what the devices do.
    ///   - text: at most 140 characters and 1 KiB; left as it is unless given.
    ///   - clearAfter: after it, 1 s to 30 days, the status is `auto` again and the text gone.
    public func setStatus(
        _ status: ChosenStatus, text: TextChange = .keep, clearAfter: Duration? = nil
    ) async throws(PresenceError) {
        let change = StatusChange(status: status, text: text, clearAfter: clearAfter?.milliseconds)
        _ = try await ask(.setStatus(change))
    }

    /// Chooses the status of the user and its text; an empty text clears it.
    public func setStatus(
        _ status: ChosenStatus, text: String, clearAfter: Duration? = nil
    ) async throws(PresenceError) {
        try await setStatus(status, text: .set(text), clearAfter: clearAfter)
    }

    /// Says what the user of this device is doing. It is remembered over reconnects.
    public func setActivity(_ activity: Activity) async {
        await runner.handle(.activity(activity))
    }

    /// Changes the own profile: all of the changes, or none.
    ///
    /// - Parameters:
    ///   - changes: those not given stay as they are.
    ///   - whenAway: with `.keep`, what cannot be sent now, or was not acknowledged when the connection broke, is kept
    ///     and sent when there is a connection; ``keptProfileChanges`` tells what became of it.
    /// - Throws: `validationFailed` with `field` if a member is out of bounds; `notConnected` or `connectionLost` with
    ///   `.fail`.
    @discardableResult
    public func updateProfile(
        _ changes: ProfileChanges, whenAway: WhenAway = .fail
    ) async throws(PresenceError) -> ProfileUpdate {
        guard case .profile(let update) = try await ask(.updateProfile(changes, whenAway)) else {
            preconditionFailure("not an answer to updateProfile")
        }
        return update
    }

    /// Changes members of the own profile; those not given stay as they are.
    @discardableResult
    public func updateProfile(
        displayName: String? = nil, photoURL: TextChange = .keep, timezone: TextChange = .keep,
        locale: TextChange = .keep, whenAway: WhenAway = .fail
    ) async throws(PresenceError) -> ProfileUpdate {
        let changes = ProfileChanges(
            displayName: displayName.map { .set($0) } ?? .keep, photoURL: photoURL, timezone: timezone, locale: locale)
        return try await updateProfile(changes, whenAway: whenAway)
    }

    // MARK: Conversations

    /// Makes a conversation of the own user with others: one, also if the connection breaks before the answer comes. The
    /// creation is then repeated until ``Configuration/requestTimeout``.
    ///
    /// - Throws: `timedOut` or, if the client is closed meanwhile, why, with `outcomeUnknown` if it was sent and no
    ///   answer came; `notConnected` if there is no connection to begin with.
    public func createConversation(with others: [String]) async throws(PresenceError) -> Conversation {
        try await createConversation(with: others, key: UUID().uuidString)
    }

    /// Makes a conversation of the own user with others, or finds the one the user made before with the same key, on
    /// any device and with any others. The call may be repeated as often as needed, also after a launch.
    ///
    /// - Parameter key: 1 to 64 bytes of printable ASCII without space, the user's own.
    /// - Throws: as ``createConversation(with:)``; `invalidID` if the key is none; `forbidden` if the user is no longer
    ///   in the conversation made with this key.
    public func createConversation(
        with others: [String], key: String
    ) async throws(PresenceError) -> Conversation {
        let ids = try Self.identifiers(others)
        guard let key = CreationKey(key) else {
            let rule = "1 to \(CreationKey.maximumLength) bytes of printable ASCII without space"
            throw PresenceError(.invalidID, "not a key (\(rule)): \(key.debugDescription)", field: "key")
        }
        let creation = Creation(participants: ids, key: key)
        guard case .conversation(let conversation) = try await ask(.createConversation(creation)) else {
            preconditionFailure("not an answer to createConversation")
        }
        return conversation
    }

    /// Shows the user typing until ``stopTyping(in:)``: repeated by itself, also over a reconnect.
    ///
    /// - Throws: `forbidden` if the user is not in that conversation. While there is no connection it does not throw.
    public func startTyping(in conversation: String) async throws(PresenceError) {
        _ = try await ask(.startTyping(Self.identifier(conversation)))
    }

    /// Shows the user typing no more.
    public func stopTyping(in conversation: String) async throws(PresenceError) {
        _ = try await ask(.stopTyping(Self.identifier(conversation)))
    }

    // MARK: The connection

    /// Connects, if the client is not connected or connecting; returns at once. Observing and asking do it by
    /// themselves, except after the connection was closed for good.
    public func connect() async {
        await runner.handle(.connect)
    }

    /// Leaves: others see the user offline at once (if no other device is here). Sequences stay, stale, and all goes
    /// on with ``connect()``.
    public func disconnect() async {
        _ = await runner.ask { .disconnect($0) }
    }

    /// The app went to the background: the user counts as idle here, and the server holds back events.
    public func background() async {
        await runner.handle(.background)
    }

    /// The app is in front again: the server sends what changed meanwhile; a connection that did not survive is
    /// replaced without waiting.
    public func foreground() async {
        await runner.handle(.foreground)
    }

    /// The network changed: replaces the connection without waiting. Others see nothing of it.
    public func reconnectNow() async {
        await runner.handle(.reconnect)
    }

    /// Leaves, forgets everything (cache, kept changes, status), and ends all sequences but ``connectionState``.
    public func signOut() async {
        _ = await runner.ask { .signOut($0) }
    }

    /// Goes on as another user, whose token this fetches: everything held for the former one is forgotten, requests
    /// in flight fail with `signedOut`, sequences go on with what the new user may see.
    public func switchUser(token: @escaping TokenProvider) async {
        await runner.switchUser(token)
    }

    /// Forgets everybody who is not observed just now.
    public func clearCache() async {
        _ = await runner.ask { .clearCache($0) }
    }

    /// The own user's id, once the server has said it.
    public var currentUser: String? {
        get async { await runner.user }
    }

    /// The server's clock now, as far as it is known: what to compare the dates of elements with.
    public var serverNow: Date {
        get async { await runner.serverTime.now }
    }

    /// The server's clock as far as it is known now, to be read as often as needed without asking the client again. Each
    /// connection may know it better: ask again when ``connectionState`` changes.
    public var serverTime: ServerTime {
        get async { await runner.serverTime }
    }

    // MARK: Helping hands

    func ask(_ call: Call) async throws(PresenceError) -> Reply {
        try await runner.ask { .call($0, call) }.get()
    }

    private static func identifier(_ string: String) throws(PresenceError) -> Identifier {
        guard let id = Identifier(string) else { throw .invalidID(string) }
        return id
    }

    static func identifiers(_ strings: some Sequence<String>) throws(PresenceError) -> [Identifier] {
        var ids: [Identifier] = []
        for string in strings { ids.append(try identifier(string)) }
        return ids
    }
}
