import Foundation
import PresenceKit

extension FakePresence {
    // MARK: People

    public func presence(of user: String) -> PresenceUpdates<PersonPresence> {
        PresenceUpdates(ChangesOnly(updates(of: user)) { $0.presence })
    }

    public func profile(of user: String) -> PresenceUpdates<PersonProfile> {
        PresenceUpdates(ChangesOnly(updates(of: user)) { $0.profile })
    }

    public func updates(of user: String) -> PresenceUpdates<Person> {
        guard PresenceID.isValid(user) else { return PresenceUpdates([Person(unknown: user, problem: .refused(user))]) }
        return watch(user).updates
    }

    public func roster(of users: [String]) -> PresenceUpdates<Roster> {
        let feed = Feed(shown(users))
        lock.withLock {
            state.rosters.removeAll { $0.feed == nil }
            state.rosters.append(RosterFeed(users: users, feed: feed))
        }
        return PresenceUpdates(RosterLoop(feed: feed, users: users))
    }

    public func person(_ user: String) async throws -> Person? {
        let people = try await people([user])
        if let problem = people.problem, !people.unanswered.isEmpty { throw problem }
        return people.first
    }

    public func people(_ users: [String]) async throws -> People {
        try Self.check(users)
        var seen: Set<String> = []
        let users = users.filter { seen.insert($0).inserted }
        try await record(.people(users))
        let found = users.map(known).filter(\.isFound)
        let missing = users.filter { !known($0).isFound }
        guard isOffline else { return People(found, missing: missing) }
        return People(
            found, missing: missing, unanswered: missing.filter { known($0).freshness == .unknown },
            problem: whyAway)
    }

    // MARK: The signed-in user

    public var meUpdates: PresenceUpdates<Me> { ownUser.updates }

    public var statusUpdates: PresenceUpdates<MyStatus> {
        PresenceUpdates(
            ChangesOnly(ownUser.updates) { me in
                me.status ?? me.problem.map { MyStatus(status: .auto, freshness: .unknown, problem: $0) }
            })
    }

    public var pendingProfileUpdates: PresenceUpdates<PendingProfileChanges> { pendingProfile.updates }

    @discardableResult
    public func setStatus(
        _ status: ChosenStatus, text: Change<String>, clearAfter: Duration?
    ) async throws -> ChoiceUpdate {
        try StatusRule.check(text: text, clearAfter: clearAfter)
        try await record(.setStatus(status, text, clearAfter))
        let clearsAt = await clearAfter.map { [now = serverNow] in now + $0 / .seconds(1) }
        // A closed client queues no choices, because it may never be opened again.
        if case .closed = connection.value { throw whyAway }
        let former = lock.withLock { state.chosen } ?? me.status
        var chosen = MyStatus(status: status, text: former?.text, clearsAt: clearsAt, freshness: freshness)
        switch text {
        case .keep: break
        case .remove: chosen.text = nil
        case .set(let text): chosen.text = text
        }
        guard isOffline else {
            changeMe { ($0.status, $0.statusRefusal) = (chosen, nil) }
            return .saved
        }
        lock.withLock { state.chosen = chosen }
        changeMe { ($0.queuedStatus, $0.statusRefusal) = (status, nil) }
        return .queued
    }

    public func setActivity(_ activity: Activity) { recordAtOnce(.setActivity(activity)) }

    @discardableResult
    public func updateProfile(_ changes: ProfileChanges, offline: OfflinePolicy) async throws -> ProfileUpdate<
        PersonProfile
    > {
        try changes.check()
        try await record(.updateProfile(changes, offline))
        guard isOffline else { return .saved(apply(changes)) }
        guard offline == .queue, !lock.withLock({ state.isSignedOut }) else { throw whyAway }
        queue(changes)
        return .queued
    }

    // MARK: Typing

    public func typing(in conversation: String) -> PresenceUpdates<Typing> {
        guard PresenceID.isValid(conversation) else {
            return PresenceUpdates([
                Typing(conversation: conversation, freshness: .unknown, problem: .refused(conversation))
            ])
        }
        return feed(of: conversation).updates
    }

    public func startTyping(in conversation: String) { recordAtOnce(.startTyping(conversation)) }
    public func stopTyping(in conversation: String) { recordAtOnce(.stopTyping(conversation)) }

    // MARK: The connection

    public var connectionStates: PresenceUpdates<ConnectionState> { connection.updates }
    public var connectionState: ConnectionState { get async { connection.value! } }
    public func connect() { recordAtOnce(.connect) }
    public func disconnect() async {
        recordAtOnce(.disconnect)
        set(.closed(nil))
    }
    public func enterBackground() { recordAtOnce(.enterBackground) }
    public func enterForeground() { recordAtOnce(.enterForeground) }
    public func reconnectNow() { recordAtOnce(.reconnectNow) }
    public func networkChanged(isAvailable: Bool) { recordAtOnce(.networkChanged(isAvailable)) }

    public func signOut() async {
        recordAtOnce(.signOut)
        endLoops()
        set(.closed(nil))
    }

    /// The test sets the new user with ``set(_:)``.
    public func switchUser(token: @escaping PresenceClient.TokenProvider) async {
        recordAtOnce(.switchUser)
        forget()
    }

    public func clearCache() async { recordAtOnce(.clearCache) }
    /// The time of ``clock``, which starts at ``Foundation/Date/inTests``.
    public var serverTime: ServerTime {
        get async { ServerTime { [clock] in .inTests + clock.now.offset / .seconds(1) } }
    }
    /// The time of ``serverTime``.
    public var serverNow: Date { get async { await serverTime.now } }

    // MARK: Conversations

    public func createConversation(with others: [String]) async throws -> Conversation {
        try Self.check(others)
        try await recordOnline(.createConversation(others, key: nil))
        return make(others, "made-\(lock.withLock { state.made.count } + 1)")
    }

    /// Creates one conversation for each key.
    public func createConversation(with others: [String], key: String) async throws -> Conversation {
        try Self.check(others)
        guard PresenceID.isValid(key), key.utf8.count <= 64 else {
            throw PresenceError(.invalidID, "not a key: \(key.debugDescription)", field: "key")
        }
        try await recordOnline(.createConversation(others, key: key))
        return make(others, key)
    }

    private static func check(_ users: [String]) throws {
        if let malformed = users.first(where: { !PresenceID.isValid($0) }) { throw PresenceError.refused(malformed) }
    }

    private func make(_ others: [String], _ key: String) -> Conversation {
        let participants = Set(others + (me.user.map { [$0] } ?? [])).sorted()
        return lock.withLock {
            if let made = state.made[key] { return made }
            state.made[key] = Conversation(id: key, participants: participants)
            return state.made[key]!
        }
    }

    // MARK: Visibility

    public func setVisibility(
        presence: Audience? = nil, lastSeen: Audience? = nil, receipts: Audience? = nil, findable: Audience? = nil
    ) async throws {
        try await recordOnline(.setVisibility(presence, lastSeen, receipts: receipts, findable: findable))
        guard receipts != .contacts else {
            throw PresenceError(
                .validationFailed, "receipts must be one of everyone, nobody", field: "visibility.receipts")
        }
        changeVisibility {
            if let presence { $0.presence = presence }
            if let lastSeen { $0.lastSeen = lastSeen }
            if let receipts { $0.receipts = receipts }
            if let findable { $0.findable = findable }
        }
    }

    public func visibility() async throws -> MyVisibility {
        try await recordOnline(.visibility)
        return lock.withLock { state.visibility }
    }

    public func addContacts(_ users: [String]) async throws {
        try Self.check(users)
        try await recordOnline(.addContacts(users))
        changeVisibility { $0.contacts = Set($0.contacts + users).sorted() }
    }

    public func removeContacts(_ users: [String]) async throws {
        try Self.check(users)
        try await recordOnline(.removeContacts(users))
        changeVisibility { visibility in visibility.contacts.removeAll { users.contains($0) } }
    }

    public func block(_ users: [String]) async throws {
        try Self.check(users)
        try await recordOnline(.block(users))
        changeVisibility { $0.blocked = Set($0.blocked + users).sorted() }
    }

    public func unblock(_ users: [String]) async throws {
        try Self.check(users)
        try await recordOnline(.unblock(users))
        changeVisibility { visibility in visibility.blocked.removeAll { users.contains($0) } }
    }
}
