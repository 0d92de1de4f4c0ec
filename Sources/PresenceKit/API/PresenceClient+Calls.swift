import Foundation
import PresenceProtocol

extension PresenceClient {
    // MARK: People

    /// One person as they are now, or `nil` if nothing is known of them: a missing user and a hidden one look alike.
    ///
    /// Somebody observed is answered from what is held. Without a connection the cache answers, marked stale.
    ///
    /// - Throws: `notConnected` or `unavailable` if nobody can be asked and nothing is held.
    public func person(_ user: String) async throws -> Person? {
        let people = try await people(CollectionOfOne(user))
        if let problem = people.problem, !people.unanswered.isEmpty { throw problem }
        return people.first
    }

    /// Many people as they are now, however many: those found, and who is missing.
    ///
    /// Those observed are answered from what is held, the others by the server. Without a connection, or if the server
    /// cannot answer, there is what the cache holds, marked stale, with the reason as ``People/problem``: that is no error.
    public func people(_ users: some Sequence<String>) async throws -> People {
        var seen: Set<String> = []
        let unique = users.filter { seen.insert($0).inserted }
        let ids = try Self.identifiers(unique)
        guard case .people(let people) = try await ask(.get(ids)) else { preconditionFailure("not an answer to get") }
        return people
    }

    // MARK: The own user

    /// Chooses the status of the user, on all their devices, until they choose another.
    ///
    /// Without a connection the choice is kept and made with the next one; the answer is then `queued`. Of several the newest
    /// counts. With a ``Storage`` on disk a choice that was queued outlives the process; it belongs to the user of the token,
    /// and to no other. It holds from the first moment of the next connection if the token says whose it is, as a JWT's `sub`.
    ///
    /// - Parameters:
    ///   - status: what others see, or `auto` for what the devices do.
    ///   - text: at most 140 characters and 1 KiB; left as it is unless given.
    ///   - clearAfter: after it, 1 s to 30 days (``StatusRule/clearing``), the status is `auto` again and the text gone. It
    ///     counts from the call, also while the choice waits.
    /// - Returns: `saved` if the server holds it; `queued` if it is in the storage.
    /// - Throws: `validationFailed` with the field `text` or `clearAfter`, before anything is kept or sent; `storageFailed`
    ///   if it cannot be kept over the end of the process, with `outcomeUnknown` because this process may still make it;
    ///   why the client is closed, if it is.
    @discardableResult
    public func setStatus(
        _ status: ChosenStatus, text: Change<String> = .keep, clearAfter: Duration? = nil
    ) async throws -> ChoiceUpdate {
        try StatusRule.check(text: text, clearAfter: clearAfter)
        let change = StatusChange(status: status.wire, text: text.wire, clearAfter: clearAfter?.milliseconds)
        if case .queued = try await ask(.setStatus(change)) { return .queued }
        return .saved
    }

    /// Says what the user of this device is doing. It is remembered over reconnects.
    public func setActivity(_ activity: Activity) {
        post(.activity(activity.wire))
    }

    /// Changes the own profile: all of the changes, or none.
    ///
    /// - Parameters:
    ///   - changes: those not given stay as they are.
    ///   - offline: with `.queue`, what cannot be sent now, has to go behind what was queued before, or was not
    ///     acknowledged when the connection broke, is in the queue when this returns, and sent when there is a
    ///     connection; ``pendingProfileUpdates`` tells what became of it.
    /// - Throws: `validationFailed` with `field` if a member is out of bounds; `notConnected` or `connectionLost` with
    ///   `.fail`; `storageFailed` if it cannot be kept.
    @discardableResult
    public func updateProfile(
        _ changes: ProfileChanges, offline: OfflinePolicy = .queue
    ) async throws -> ProfileUpdate {
        guard case .profile(let update) = try await ask(.updateProfile(changes.wire, offline)) else {
            preconditionFailure("not an answer to updateProfile")
        }
        return update
    }

    /// Changes members of the own profile; those not given stay as they are.
    @discardableResult
    public func updateProfile(
        displayName: Change<String> = .keep, photoURL: Change<URL> = .keep, timezone: Change<String> = .keep,
        locale: Change<String> = .keep, offline: OfflinePolicy = .queue
    ) async throws -> ProfileUpdate {
        let changes = ProfileChanges(
            displayName: displayName, photoURL: photoURL, timezone: timezone, locale: locale)
        return try await updateProfile(changes, offline: offline)
    }

    // MARK: Conversations

    /// Makes a conversation of the own user with others: one, also if the connection breaks before the answer comes. The
    /// creation is then repeated until ``Configuration/requestTimeout``.
    ///
    /// - Throws: `timedOut` or, if the client is closed meanwhile, why, with `outcomeUnknown` if it was sent and no
    ///   answer came; `notConnected` if there is no connection to begin with.
    public func createConversation(with others: [String]) async throws -> Conversation {
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
    ) async throws -> Conversation {
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

    /// Shows the user typing until ``stopTyping(in:)``: repeated by itself, also over a reconnect. Call it at every key
    /// press: what was said lately is not said again.
    ///
    /// Where the user may not type (a conversation of others, a malformed id) nothing is shown; ``typing(in:)`` says why.
    public func startTyping(in conversation: String) {
        if let id = ConversationID(conversation) { post(.typing(id, true)) }
    }

    /// Shows the user typing no more.
    public func stopTyping(in conversation: String) {
        if let id = ConversationID(conversation) { post(.typing(id, false)) }
    }

    // MARK: What is true now

    /// The own user, as far as it is known; ``meUpdates`` follows it. The profile is known while that is observed.
    public var me: Me {
        get async { await runner.look { $0.shownMe } }
    }

    /// How the connection is; ``connectionStates`` follows it.
    public var connectionState: ConnectionState {
        get async { await runner.look { $0.link.state } }
    }

    /// The profile changes that wait; ``pendingProfileUpdates`` follows them.
    public var pendingProfileChanges: PendingProfileChanges {
        get async { await runner.look { $0.me.keptChanges } }
    }

    /// The server's clock now, as far as it is known: what to compare the dates of elements with.
    public var serverNow: Date {
        get async { await runner.serverTime.now }
    }

    /// The server's clock as far as it is known now, to be read as often as needed without asking the client again. Each
    /// connection may know it better: ask again when ``connectionStates`` has a new one.
    public var serverTime: ServerTime {
        get async { await runner.serverTime }
    }

    // MARK: Private helpers

    func ask(_ call: Call) async throws -> Reply {
        switch await runner.ask({ .call($0, call) }) {
        case .success(let reply): return reply
        case .failure(let error): throw error.thrown
        }
    }

    static func identifiers(_ strings: some Sequence<String>) throws(PresenceError) -> [Identifier] {
        var ids: [Identifier] = []
        for string in strings {
            guard let id = Identifier(string) else { throw .invalidID(string) }
            ids.append(id)
        }
        return ids
    }
}
