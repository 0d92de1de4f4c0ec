import PresenceProtocol

// The app's observers and their elements.
extension Engine {
    mutating func observe(_ id: ObserverID, _ topic: Topic, at now: Moment) {
        observers.add(id, topic)
        watchlist.join(topic)
        if topic != .connection { connect(again: false, at: now) }
        if link.isClosed { watchlist.problemChanged(of: topic) }
        if topic == .me { return observeMe(id, at: now) }
        if !link.isConnected { readCache(watchlist.unknown(in: topic)) }
    }

    mutating func unobserve(_ id: ObserverID, at now: Moment) {
        guard let topic = observers.remove(id) else { return }
        watchlist.leave(topic, at: now.uptime)
        if let user = myProfiles.removeValue(forKey: id) { watchlist.leave(.user(user), at: now.uptime) }
    }

    /// The signed-in user is observed like any other, once their id is known.
    private mutating func observeMe(_ id: ObserverID, at now: Moment) {
        guard let me = me.id, myProfiles[id] == nil else { return }
        myProfiles[id] = me
        watchlist.join(.user(me))
        if link.isConnected { send(self.me.askForAudiences()) } else { readCache(watchlist.unknown(in: .user(me))) }
    }

    /// A connection begins, or the storage has reported its owner.
    mutating func observeMe(at now: Moment) {
        for id in observers.ids(of: .me) { observeMe(id, at: now) }
        if link.isConnected, !myProfiles.isEmpty { send(me.askForAudiences()) }
    }

    /// The user signed out or changed.
    mutating func unobserveMe(at now: Moment) {
        for user in myProfiles.values { watchlist.leave(.user(user), at: now.uptime) }
        myProfiles = [:]
    }

    /// The storage has reported the writes of an earlier process.
    mutating func recall(_ owner: UserID?, _ writes: [QueuedWrite], at now: Moment) {
        guard awaitsOwner else { return }
        awaitsOwner = false
        // Another user has signed in.
        if let account = me.account, let owner, owner != account {
            forgetRecalled(at: now)
            return emit(.storeOwner(account.string))
        }
        me.recall(owner, writes, at: now)
        observeMe(at: now)
    }

    mutating func readCache(_ users: [UserID]) {
        guard !users.isEmpty else { return }
        lastReading += 1
        emit(.readCache(users))
    }

    /// The cache has replied.
    mutating func recall(_ found: [CachedPerson]) {
        lastRead += 1
        let found = lastRead > lastForeignReading ? found : []
        watchlist.recall(found)
        recallLookups(found)
    }

    // MARK: Elements

    // Reading is not an input: it only changes which values the observer has seen.

    mutating func nextPresence(_ id: ObserverID) -> PersonPresence? {
        next(id) { engine, topic in
            guard let user = topic.user, let person = engine.watchlist.people[user] else { return nil }
            return (person.presenceStamp, person.presence(of: user, on: engine.link))
        }
    }

    mutating func nextProfile(_ id: ObserverID) -> PersonProfile? {
        next(id) { engine, topic in
            guard let user = topic.user, let person = engine.watchlist.people[user] else { return nil }
            return (person.profileStamp, person.profile(of: user, on: engine.link))
        }
    }

    mutating func nextPerson(_ id: ObserverID) -> Person? {
        next(id) { engine, topic in
            guard let user = topic.user, let person = engine.watchlist.people[user] else { return nil }
            return (person.stamp, person.person(user, on: engine.link))
        }
    }

    mutating func nextRoster(_ id: ObserverID) -> Roster? {
        let (people, link) = (watchlist.people, link)
        return observers.nextRoster(id) { string in
            guard let user = UserID(string) else { return .refused(string) }
            return people[user]?.person(user, on: link)
        }
    }

    mutating func nextTyping(_ id: ObserverID) -> Typing? {
        next(id) { engine, topic in
            guard let id = topic.conversation, let held = engine.watchlist.conversations[id] else { return nil }
            return (held.stamp, held.typing(in: id, without: engine.me.id, on: engine.link))
        }
    }

    mutating func nextConnectionState(_ id: ObserverID) -> ConnectionState? {
        next(id) { engine, _ in (engine.link.stamp, engine.link.state) }
    }

    mutating func nextMe(_ id: ObserverID) -> Me? {
        next(id) { engine, _ in (engine.myStamp, engine.shownMe) }
    }

    /// The signed-in user as the app sees it.
    var shownMe: Me {
        Me(
            user: me.id?.string, status: me.knownStatus(on: link),
            profile: me.id.flatMap { watchlist.people[$0]?.profile(of: $0, on: link) }, visibility: me.audiences,
            queuedStatus: (me.choice.promised(to: me.writer)?.status).map(ChosenStatus.init),
            statusRefusal: me.choice.refusal, problem: link.closingProblem)
    }

    mutating func nextOwnStatus(_ id: ObserverID) -> Me.Status? {
        next(id) { engine, _ in (engine.me.statusStamp, engine.me.shownStatus(on: engine.link)) }
    }

    mutating func nextContactRequests(_ id: ObserverID) -> [Me.ContactRequest]? {
        next(id) { engine, _ in (engine.me.requests.stamp, engine.me.requests.held) }
    }

    mutating func nextKeptProfile(_ id: ObserverID) -> ProfileChanges.Pending? {
        next(id) { engine, _ in (engine.me.keptStamp, engine.me.keptChanges) }
    }

    /// Returns the element that `find` returns with its stamp, unless the observer has seen it.
    private mutating func next<Element>(
        _ id: ObserverID, _ find: (borrowing Engine, Topic) -> (stamp: UInt64, element: Element?)?
    ) -> Element? {
        guard let observer = observers[id], let found = find(self, observer.topic), found.stamp > observer.seen,
            let element = found.element
        else { return nil }
        observers.saw(id, found.stamp)
        return element
    }
}
