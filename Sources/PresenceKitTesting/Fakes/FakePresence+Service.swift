import Foundation
import PresenceKit

extension FakePresence {
    // MARK: People

    public func presence(of user: String) -> PresenceUpdates<PersonPresence> {
        PresenceUpdates(watch(user).updates.map(\.presence))
    }

    public func profile(of user: String) -> PresenceUpdates<PersonProfile> {
        PresenceUpdates(watch(user).updates.map(\.profile))
    }

    public func updates(of user: String) -> PresenceUpdates<Person> { watch(user).updates }

    public func roster(of users: [String]) -> PresenceUpdates<Roster> {
        let feed = Feed(Roster(users, people: users.map(known)))
        lock.withLock {
            state.rosters.removeAll { $0.feed == nil }
            state.rosters.append(RosterFeed(users: users, feed: feed))
        }
        return feed.updates
    }

    public func person(_ user: String) async throws -> Person? {
        let people = try await people([user])
        if let problem = people.problem, !people.unanswered.isEmpty { throw problem }
        return people.first
    }

    public func people(_ users: [String]) async throws -> People {
        try await note(.people(users))
        let found = users.map(known).filter(\.isFound)
        let missing = users.filter { !known($0).isFound }
        guard isOffline else { return People(found, missing: missing) }
        return People(
            found, missing: missing, unanswered: missing,
            problem: PresenceError(.notConnected, "the test is offline"))
    }

    // MARK: The own user

    public var meUpdates: PresenceUpdates<Me> { ownUser.updates }

    public var pendingProfileUpdates: PresenceUpdates<PendingProfileChanges> { pendingProfile.updates }

    @discardableResult
    public func setStatus(
        _ status: ChosenStatus, text: Change<String>, clearAfter: Duration?
    ) async throws -> ChoiceUpdate {
        try await note(.setStatus(status, text, clearAfter))
        var me = me
        var chosen = MyStatus(status: status, text: me.status?.text, freshness: .live)
        switch text {
        case .keep: break
        case .remove: chosen.text = nil
        case .set(let text): chosen.text = text
        }
        me.status = chosen
        set(me)
        return isOffline ? .queued : .saved
    }

    public func setActivity(_ activity: Activity) { noteAtOnce(.setActivity(activity)) }

    @discardableResult
    public func updateProfile(_ changes: ProfileChanges, offline: OfflinePolicy) async throws -> ProfileUpdate {
        try await note(.updateProfile(changes, offline))
        guard isOffline else { return .saved(apply(changes)) }
        guard offline == .queue else { throw PresenceError(.notConnected, "the test is offline") }
        queue(changes)
        return .queued
    }

    // MARK: Typing

    public func typing(in conversation: String) -> PresenceUpdates<Typing> { feed(of: conversation).updates }
    public func startTyping(in conversation: String) { noteAtOnce(.startTyping(conversation)) }
    public func stopTyping(in conversation: String) { noteAtOnce(.stopTyping(conversation)) }

    // MARK: The connection

    public var connectionStates: PresenceUpdates<ConnectionState> { connection.updates }
    public var connectionState: ConnectionState { get async { connection.value! } }
    public func connect() { noteAtOnce(.connect) }
    public func disconnect() async {
        noteAtOnce(.disconnect)
        set(.closed(nil))
    }
    public func enterBackground() { noteAtOnce(.enterBackground) }
    public func enterForeground() { noteAtOnce(.enterForeground) }
    public func reconnectNow() { noteAtOnce(.reconnectNow) }
    public func networkChanged(isAvailable: Bool) { noteAtOnce(.networkChanged(isAvailable)) }

    public func signOut() async {
        noteAtOnce(.signOut)
        let (watched, conversations, rosters) = lock.withLock {
            (Array(state.watched.values), Array(state.conversations.values), state.rosters)
        }
        for feed in watched { feed.finish() }
        for feed in conversations { feed.finish() }
        for roster in rosters { roster.feed?.finish() }
        ownUser.send(Me())
        ownUser.finish()
        pendingProfile.finish()
        set(.closed(nil))
    }

    // MARK: Visibility

    public func setVisibility(presence: Audience?, lastSeen: Audience?) async throws {
        try await noteOnline(.setVisibility(presence, lastSeen))
        changeVisibility {
            if let presence { $0.presence = presence }
            if let lastSeen { $0.lastSeen = lastSeen }
        }
    }

    public func visibility() async throws -> MyVisibility {
        try await noteOnline(.visibility)
        return lock.withLock { state.visibility }
    }

    public func addContacts(_ users: [String]) async throws {
        try await noteOnline(.addContacts(users))
        changeVisibility { $0.contacts = Set($0.contacts + users).sorted() }
    }

    public func removeContacts(_ users: [String]) async throws {
        try await noteOnline(.removeContacts(users))
        changeVisibility { visibility in visibility.contacts.removeAll { users.contains($0) } }
    }

    public func block(_ users: [String]) async throws {
        try await noteOnline(.block(users))
        changeVisibility { $0.blocked = Set($0.blocked + users).sorted() }
    }

    public func unblock(_ users: [String]) async throws {
        try await noteOnline(.unblock(users))
        changeVisibility { visibility in visibility.blocked.removeAll { users.contains($0) } }
    }
}
