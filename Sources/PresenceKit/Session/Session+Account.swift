import Foundation
import PresenceProtocol

// Signing out, and going on as another user.
extension Session {
    /// The app leaves for good, as far as this user is concerned.
    mutating func signOut(at now: Moment) {
        sayGoodbye()
        drop(at: now, abandoning: .signedOut)
        forget(at: now)
        close(nil, at: now)
        for (id, loop) in loops where loop.topic != .connection { endLoop(id, at: now) }
        people = [:]
        conversations = [:]
    }

    /// The app goes on as another user.
    mutating func switchUser(at now: Moment) {
        sayGoodbye()
        let wasIdle = phase == .idle
        drop(at: now, abandoning: .signedOut)
        attempt += 1
        forget(at: now)
        reconnection.reset()
        // The next user's comes from a provider.
        reconnection.tokenIsFixed = false
        if let flaw { return close(flaw, at: now) }
        if wasIdle { return }
        start(at: now)
    }

    /// Everything held for the user goes.
    mutating func forget(at now: Moment) {
        let error = PresenceError.signedOut
        let date = clock.date(at: now)
        token = nil
        user = nil
        ownStatus = nil
        ownStatusStamp = 0
        _ = ownTyping.stopAll()
        profileQueue = ProfileQueue()
        keptProfileChanged()
        failStatus(error)
        for id in callDeadlines.keys.sorted() {
            var error = error
            error.outcomeUnknown = repeats[id] != nil
            answer(id, .failure(error))
        }
        deferred = []
        readings = [:]
        for user in people.keys {
            people[user]!.forget(at: date)
            touch(user)
        }
        for conversation in conversations.keys {
            conversations[conversation]!.forget(at: date)
            touch(conversation: conversation)
        }
        uncached = []
        say(.clearCache)
    }
}

extension PresenceError {
    fileprivate static let signedOut = PresenceError(.signedOut, "the user signed out or was changed")
}
