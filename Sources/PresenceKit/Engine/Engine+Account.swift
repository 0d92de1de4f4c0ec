import PresenceProtocol

// Disconnecting, signing out, changing the user.
extension Engine {
    mutating func disconnect(_ id: CallID, at now: Moment) {
        let attempt = connectedAttempt
        disconnect(at: now)
        emit(completions.wait(id, forEndOf: attempt, andClearing: false, at: now.uptime))
    }

    /// The app signs the user out.
    mutating func signOut(_ id: CallID, at now: Moment) {
        let attempt = connectedAttempt
        sendDisconnect()
        drop(at: now, abandoning: .signedOut)
        forget(at: now)
        isSignedOut = true
        close(nil, at: now)
        endLoops()
        emit(completions.wait(id, forEndOf: attempt, andClearing: true, at: now.uptime))
    }

    /// The app closes the client for good.
    mutating func close(_ id: CallID, at now: Moment) {
        let attempt = connectedAttempt
        link.retire()
        sendDisconnect()
        emit(.cancelFetch)
        close(.clientClosed, at: now)
        endLoops()
        emit(.tell(.closed))
        emit(completions.wait(id, forEndOf: attempt, andClearing: false, at: now.uptime))
    }

    /// Ends all loops of the app, except those on the connection's state.
    private mutating func endLoops() {
        for observer in Array(observers.ids) where observers[observer]?.topic != .connection {
            _ = observers.remove(observer)
        }
        watchlist.removeAll()
    }

    /// The account has a session of this user. A client that was never used still waits for its first use.
    mutating func signIn(_ user: UserID?, at now: Moment) {
        let isOther = user != nil && [me.account, me.id].contains { $0 != nil && $0 != user }
        if isOther { switchUser(.none, at: now) }
        me.identify(as: user)
        isSignedOut = false
        if isOther { return }
        identify(at: now)
        switch link.phase {
        case .closed: connect(again: true, at: now)
        case .waiting: reconnect(at: now)
        // The provider's pending result may be from before the sign-in, so the fetch starts again.
        case .fetchingToken: emit(link.start(at: now))
        case .idle, .dialling, .introducing, .connected: break
        }
    }

    /// The app changes the user.
    mutating func switchUser(_ id: CallID, at now: Moment) {
        sendDisconnect()
        let wasIdle = link.phase == .idle
        drop(at: now, abandoning: .signedOut)
        forget(at: now)
        isSignedOut = false
        link.switchUser()
        emit(completions.wait(id, forEndOf: nil, andClearing: true, at: now.uptime))
        if let flaw = link.flaw {
            close(flaw, at: now)
        } else if !wasIdle {
            emit(link.start(at: now))
        }
    }

    mutating func clearCache(_ id: CallID, at now: Moment) {
        emit(completions.clearCache(andWrites: false))
        emit(completions.wait(id, forEndOf: nil, andClearing: true, at: now.uptime))
    }

    /// The attempt whose connection ends with a goodbye; `nil` without one.
    private var connectedAttempt: Attempt? { link.hasTransport ? link.attempt : nil }

    /// Drops all data of the user; pending calls fail.
    ///
    /// - Parameter next: the user whom only a token names. Until the server has confirmed them, pending writes stay, and
    ///   changes of the former user that can be queued are queued.
    mutating func forget(at now: Moment, next: UserID? = nil) {
        answerSaved()
        if next == nil {
            link.forget()
            awaitsOwner = false
        } else {
            failWhatCannotWait()
        }
        let sent = Set(calls.ids.filter { me.choice.wasSent(for: $0) || me.profile.wasSent(for: $0) })
        fail(me.forget(keepingWrites: next != nil), .signedOut)
        for id in calls.ids where !me.choice.mayBeDone(for: id) && !me.profile.mayBeDone(for: id) {
            var error = PresenceError.signedOut
            error.outcomeUnknown = calls.isRepeating(id) || sent.contains(id)
            answer(id, .failure(error))
        }
        link.confirmedToken = nil
        userNumber += 1
        emit(.tell(.forgotten(userNumber, next: next?.string)))
        forgetPeople(andWrites: next == nil, at: now)
    }

    /// The storage turned out to be another user's: the storage's data is dropped, but calls made in this process stay.
    mutating func forgetRecalled(at now: Moment) {
        me.forgetRecalled()
        forgetPeople(andWrites: false, at: now)
    }

    private mutating func forgetPeople(andWrites: Bool, at now: Moment) {
        lastForeignReading = lastReading
        unobserveMe(at: now)
        watchlist.forget(at: link.clock.date(at: now))
        emit(completions.clearCache(andWrites: andWrites))
    }
}

extension PresenceError {
    package static let signedOut = PresenceError(.signedOut, "the user signed out or was changed")
    package static let clientClosed = PresenceError(.notConnected, "the app closed the client")
}
