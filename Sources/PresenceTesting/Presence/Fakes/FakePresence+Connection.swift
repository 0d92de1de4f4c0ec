import Foundation
import PresenceKit

// The fake's connection and its user.
extension FakePresence {
    /// Whether calls cannot reach the server.
    var isOffline: Bool { lock.withLock { state.lastKnown } != nil }

    /// The freshness of current values.
    var freshness: Freshness {
        lock.withLock { state.offlineSince ?? state.staleSince }.map { .stale(since: $0) } ?? .live
    }

    /// Why loops get no new values; `nil` if they can.
    private var closingProblem: PresenceError? {
        if case .closed = connection.value { whyAway } else { nil }
    }

    /// The error of a call that needs a connection.
    var whyAway: PresenceError {
        if lock.withLock({ state.isSignedOut }) { return PresenceError(.signedOut, "the user signed out") }
        if case .closed(let error?) = connection.value { return error }
        return .offline
    }

    func goOffline(as connection: ConnectionState, at date: Date) {
        lock.withLock {
            state.staleSince = nil
            // Values keep the state of the first loss.
            guard state.lastKnown == nil else { return }
            state.offlineSince = date
            var held = state.people
            for user in state.absent where held[user] == nil { held[user] = Person(absent: user) }
            state.lastKnown = held.mapValues { $0.freshness.isLive ? $0.with(.stale(since: date)) : $0 }
        }
        self.connection.send(connection)
        show(.stale(since: lock.withLock { state.offlineSince } ?? date))
    }

    func goOnline(as connection: ConnectionState) {
        let (changes, chosen) = lock.withLock {
            (state.offlineSince, state.lastKnown, state.isSignedOut) = (nil, nil, false)
            state.staleSince = if case .stale(let since) = connection { since } else { nil }
            defer {
                state.pending = PendingProfileChanges()
                state.chosen = nil
            }
            return (state.pending.waiting, state.chosen)
        }
        self.connection.send(connection)
        show(freshness)
        if let changes { _ = apply(changes) }
        if let chosen {
            changeMe {
                $0.status = chosen
                $0.status?.freshness = freshness
                $0.queuedStatus = nil
            }
        }
        pendingProfile.send(PendingProfileChanges())
    }

    /// Shows all values with this freshness.
    private func show(_ freshness: Freshness) {
        publish(nil)
        for (conversation, feed) in lock.withLock({ state.conversations }) { feed.send(shownTyping(conversation)) }
        let problem = closingProblem
        changeMe {
            $0.status?.freshness = freshness
            $0.profile?.freshness = freshness
            $0.problem = problem
            $0.status?.problem = problem
            $0.profile?.problem = problem
        }
    }

    /// The typing users as loops see them: none while offline, because they may have stopped.
    func shownTyping(_ conversation: String) -> Typing {
        var typing =
            lock.withLock { state.lastKnown == nil ? state.typists[conversation] : nil }
            ?? Typing(conversation: conversation, freshness: .live)
        typing.freshness = freshness
        typing.problem = closingProblem
        return typing
    }

    /// A user as loops see them.
    func shownPerson(_ user: String) -> Person {
        let person = known(user)
        guard person.problem == nil, let problem = closingProblem else { return person }
        return person.with(problem)
    }

    func changeMe(_ change: (inout Me) -> Void) {
        var me = me
        change(&me)
        if me != self.me { set(me) }
    }

    /// Ends all loops except those on the connection, without another element. Later loops wait for another user.
    func endLoops() {
        let (watched, conversations, rosters, ownUser, pendingProfile) = lock.withLock {
            defer {
                (state.watched, state.conversations, state.rosters) = ([:], [:], [])
                state.ownUser = Feed(Me())
                state.pendingProfile = Feed(PendingProfileChanges())
                (state.pending, state.chosen, state.isSignedOut) = (PendingProfileChanges(), nil, true)
                (state.lastKnown, state.absent, state.visibility) = ([:], [], State.visibleToAll)
                if state.offlineSince == nil { state.offlineSince = .inTests }
            }
            return (state.watched, state.conversations, state.rosters, state.ownUser, state.pendingProfile)
        }
        for feed in watched.values { feed.finish() }
        for feed in conversations.values { feed.finish() }
        for roster in rosters { roster.feed?.finish() }
        ownUser.finish()
        pendingProfile.finish()
    }

    /// Changes the user: the former one's data is removed, and loops continue.
    func forget() {
        lock.withLock {
            (state.pending, state.chosen, state.isSignedOut) = (PendingProfileChanges(), nil, false)
            (state.absent, state.visibility) = ([], State.visibleToAll)
            if state.lastKnown != nil { state.lastKnown = [:] }
        }
        set(Me())
        publish(nil)
        pendingProfile.send(PendingProfileChanges())
    }
}
