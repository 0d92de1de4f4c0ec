import Foundation
import PresenceKit

// The fake's connection comes and goes, and so does its user.
extension FakePresence {
    /// Whether calls cannot reach the server.
    var isOffline: Bool { lock.withLock { state.lastKnown } != nil }

    /// Of what is held.
    var freshness: Freshness {
        lock.withLock { state.offlineSince ?? state.staleSince }.map { .stale(since: $0) } ?? .live
    }

    /// Why nothing newer comes to any loop; `nil` while something may.
    private var closingProblem: PresenceError? {
        if case .closed = connection.value { whyAway } else { nil }
    }

    /// Why a call that needs a connection fails.
    var whyAway: PresenceError {
        if lock.withLock({ state.isSignedOut }) { return PresenceError(.signedOut, "the user signed out") }
        if case .closed(let error?) = connection.value { return error }
        return .offline
    }

    func goOffline(as connection: ConnectionState, at date: Date) {
        lock.withLock {
            state.staleSince = nil
            // What was known at the first loss stays what is known.
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

    /// Everything held is as fresh as this.
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

    /// Who types, as loops see it: nobody who may have stopped long ago.
    func shownTyping(_ conversation: String) -> Typing {
        var typing =
            lock.withLock { state.lastKnown == nil ? state.typists[conversation] : nil }
            ?? Typing(conversation: conversation, freshness: .live)
        typing.freshness = freshness
        typing.problem = closingProblem
        return typing
    }

    /// Somebody as loops see them.
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

    /// All loops but those on the connection end, without another element; those that begin later wait for another user.
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

    /// Another user: nothing of the former one is left, and loops go on.
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
