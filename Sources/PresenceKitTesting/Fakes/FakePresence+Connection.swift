import Foundation
import PresenceKit

// The fake's connection comes and goes, and so does its user.
extension FakePresence {
    /// Whether calls cannot reach the server.
    var isOffline: Bool { lock.withLock { state.offlineSince } != nil }

    /// Of what is held.
    var freshness: Freshness { lock.withLock { state.offlineSince }.map { .stale(since: $0) } ?? .live }

    /// Why a call that needs a connection fails.
    var whyAway: PresenceError {
        if lock.withLock({ state.isSignedOut }) { return PresenceError(.signedOut, "the user signed out") }
        if case .closed(let error?) = connection.value { return error }
        return .offline
    }

    func goOffline(as connection: ConnectionState, at date: Date) {
        lock.withLock { state.offlineSince = date }
        show(.stale(since: date))
        self.connection.send(connection)
    }

    func goOnline(as connection: ConnectionState) {
        let (changes, chosen) = lock.withLock {
            state.offlineSince = nil
            state.isSignedOut = false
            defer {
                state.pending = PendingProfileChanges()
                state.chosen = nil
            }
            return (state.pending.waiting, state.chosen)
        }
        if case .stale(let since) = connection { show(.stale(since: since)) } else { show(.live) }
        if let changes { _ = apply(changes) }
        if let chosen { changeMe { $0.status = chosen } }
        pendingProfile.send(PendingProfileChanges())
        self.connection.send(connection)
    }

    /// Everything held is as fresh as this.
    private func show(_ freshness: Freshness) {
        let conversations = lock.withLock {
            for (user, person) in state.people { state.people[user] = person.with(freshness) }
            return state.conversations.values
        }
        publish(nil)
        for feed in conversations {
            guard var typing = feed.value else { continue }
            typing.freshness = freshness
            // Nobody is shown as typing who may have stopped long ago.
            if freshness != .live { (typing.users, typing.othersCount) = ([], 0) }
            feed.send(typing)
        }
        changeMe {
            $0.status?.freshness = freshness
            $0.profile?.freshness = freshness
        }
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
        lock.withLock { (state.pending, state.chosen, state.isSignedOut) = (PendingProfileChanges(), nil, false) }
        set(Me())
        pendingProfile.send(PendingProfileChanges())
    }
}
