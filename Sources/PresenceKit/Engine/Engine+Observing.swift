import PresenceProtocol

// What the app's loops look at, and what they get to see.
extension Engine {
    mutating func observe(_ id: ObserverID, _ topic: Topic, at now: Moment) {
        observers.add(id, topic)
        watchlist.join(topic)
        if topic != .connection { connect(again: false, at: now) }
        guard !link.isConnected else { return }
        let unknown = watchlist.unknown(in: topic)
        if !unknown.isEmpty { emit(.readCache(unknown)) }
    }

    mutating func unobserve(_ id: ObserverID, at now: Moment) {
        if let topic = observers.remove(id) { watchlist.leave(topic, at: now.uptime) }
    }

    /// The cache has answered.
    mutating func recall(_ found: [CachedPerson]) {
        watchlist.recall(found)
        recallLookups(found)
    }

    // MARK: Elements

    // Looking is not an input: it changes only how much the app has seen.

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

    mutating func nextOwnStatus(_ id: ObserverID) -> MyStatus? {
        next(id) { engine, _ in (engine.me.statusStamp, engine.me.shownStatus(on: engine.link)) }
    }

    mutating func nextKeptProfile(_ id: ObserverID) -> KeptProfileChanges? {
        next(id) { engine, _ in (engine.me.keptStamp, engine.me.keptChanges) }
    }

    /// What `find` gives, with its stamp, if the app has not seen it.
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
