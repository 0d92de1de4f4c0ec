import Foundation
import PresenceProtocol

extension PresenceClient {
    // MARK: People

    /// Returns the current value of one user, or `nil` if the user does not exist or is hidden (the two look alike).
    ///
    /// For an observed user, returns the value in memory. Without a connection, returns the cached value, marked stale.
    ///
    /// - Throws: `notConnected` or `unavailable` if the server cannot reply and there is no cached value.
    public func person(_ user: String) async throws -> Person? {
        let people = try await people(CollectionOfOne(user))
        if let problem = people.problem, !people.unanswered.isEmpty { throw problem }
        return people.first
    }

    /// Returns the current values of any number of users, and the ids of those without one.
    ///
    /// Observed users are answered from memory, the others by the server. If the server cannot reply, returns cached
    /// values, marked stale, with the reason in ``People/problem``, and throws no error.
    public func people(_ users: some Sequence<String>) async throws -> People {
        var seen: Set<String> = []
        let unique = users.filter { seen.insert($0).inserted }
        let ids = try Self.identifiers(unique)
        guard case .people(let people) = try await ask(.get(ids)) else { preconditionFailure("not an answer to get") }
        return people
    }

    // MARK: The signed-in user

    /// Sets the user's status for all their devices, until they set another.
    ///
    /// Without a connection the choice is queued and sent on the next connection; only the newest choice counts. With a
    /// ``Storage`` on disk it survives the process, and is only ever sent for the user of the token. If the token names
    /// its user (a JWT's `sub`), the choice takes effect with the very start of the next connection.
    ///
    /// - Parameters:
    ///   - status: the status that others see, or `auto` to follow the devices' activity.
    ///   - text: at most 140 characters and 1 KiB. By default the text is kept.
    ///   - clearAfter: the time after which the status returns to `auto` and the text is removed, 1 s to 30 days
    ///     (``ChosenStatus/Rule/clearing``). It starts with this call, even while the choice is queued.
    /// - Returns: `saved` if the server has stored it; `queued` if it is in the storage.
    /// - Throws: `validationFailed` with the field `text` or `clearAfter`, before anything is stored or sent;
    ///   `storageFailed` with `outcomeUnknown` if it cannot be stored, because this process may still send it; the
    ///   reason for which the client is closed, if it is.
    @discardableResult
    public func setStatus(
        _ status: ChosenStatus, text: Change<String> = .keep, clearAfter: Duration? = nil
    ) async throws -> ChosenStatus.Update {
        try ChosenStatus.Rule.check(text: text, clearAfter: clearAfter)
        let change = StatusChange(status: status.wire, text: text.wire, clearAfter: clearAfter?.milliseconds)
        if case .queued = try await ask(.setStatus(change)) { return .queued }
        return .saved
    }

    /// Sets the user's activity on this device. The client sends it again on each connection.
    public func setActivity(_ activity: Activity) {
        post(.activity(activity.wire))
    }

    /// Changes the user's own profile. The server applies all of the changes or none.
    ///
    /// - Parameters:
    ///   - changes: the changed members; the others keep their values.
    ///   - offline: with `.queue`, a change is queued if it cannot be sent now, if earlier changes are queued, or if
    ///     the connection breaks before the acknowledgement. It is stored when this returns, and sent once there is a
    ///     connection. ``pendingProfileUpdates`` reports the outcome.
    /// - Throws: `validationFailed` with `field` if a member is invalid; `notConnected` or `connectionLost` with
    ///   `.fail`; `storageFailed` if it cannot be queued.
    @discardableResult
    public func updateProfile(
        _ changes: ProfileChanges, offline: PresenceClient.OfflinePolicy = .queue
    ) async throws -> ProfileUpdate<PersonProfile> {
        guard case .profile(let update) = try await ask(.updateProfile(changes.wire, offline)) else {
            preconditionFailure("not an answer to updateProfile")
        }
        return update
    }

    /// Changes members of the user's own profile; the others keep their values.
    @discardableResult
    public func updateProfile(
        displayName: Change<String> = .keep, photoURL: Change<URL> = .keep, timezone: Change<String> = .keep,
        locale: Change<String> = .keep, offline: PresenceClient.OfflinePolicy = .queue
    ) async throws -> ProfileUpdate<PersonProfile> {
        let changes = ProfileChanges(
            displayName: displayName, photoURL: photoURL, timezone: timezone, locale: locale)
        return try await updateProfile(changes, offline: offline)
    }

    // MARK: Conversations

    /// Creates a conversation of the signed-in user with others. It is created once even if the connection breaks
    /// before the reply: the client repeats the request until ``Configuration/requestTimeout``.
    ///
    /// - Throws: `timedOut`, or the reason for which the client was closed, with `outcomeUnknown` if the request was
    ///   sent without a reply; `notConnected` if there is no connection to begin with.
    public func createConversation(with others: [String]) async throws -> Conversation {
        try await createConversation(with: others, key: UUID().uuidString)
    }

    /// Creates a conversation of the signed-in user with others, or returns the one that the user created before with
    /// the same key, on any device and with any participants. The call may be repeated any number of times, also after
    /// a relaunch.
    ///
    /// - Parameter key: 1 to 64 bytes of printable ASCII without spaces. Keys belong to the user.
    /// - Throws: as ``createConversation(with:)``; `invalidID` if the key is malformed; `forbidden` if the user is no
    ///   longer in the conversation created with this key.
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

    /// Shows the user as typing until ``stopTyping(in:)`` is called. The client renews the indicator, also after a
    /// reconnect. Calls are throttled, so call this on every key press.
    ///
    /// If the user may not type there (not a participant, a malformed id), nothing is shown; ``typing(in:)`` has the
    /// reason.
    public func startTyping(in conversation: String) {
        if let id = ConversationID(conversation) { post(.typing(id, true)) }
    }

    /// Stops showing the user as typing.
    public func stopTyping(in conversation: String) {
        if let id = ConversationID(conversation) { post(.typing(id, false)) }
    }

    // MARK: Current values

    /// The signed-in user, as far as known; ``meUpdates`` observes it. The profile is only known while it is observed.
    public var me: Me {
        get async { await runner.inspect { $0.shownMe } }
    }

    /// The state of the connection; ``connectionStates`` observes it.
    public var connectionState: ConnectionState {
        get async { await runner.inspect { $0.link.state } }
    }

    /// The pending profile changes; ``pendingProfileUpdates`` observes them.
    public var pendingProfileChanges: ProfileChanges.Pending {
        get async { await runner.inspect { $0.me.keptChanges } }
    }

    /// The current time of the server's clock, as far as known. Compare the dates of elements with it.
    public var serverNow: Date {
        get async { await runner.serverTime.now }
    }

    /// The server's clock as known now; it can be read repeatedly without calling the client. Each connection may
    /// improve it, so read it again when ``connectionStates`` has a new value.
    public var serverTime: PresenceClient.ServerTime {
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
