import PresenceProtocol

/// The app's loops: the topic and last seen value of each, and which ones to wake at the end of the turn.
struct Observers: Sendable {
    private var observers: [ObserverID: Observer] = [:]
    private var rosters: [ObserverID: HeldRoster] = [:]
    private var byUser: [UserID: Set<ObserverID>] = [:]
    private var byConversation: [ConversationID: Set<ObserverID>] = [:]
    private var woken: Set<ObserverID> = []
    /// The stamps of topics without users and conversations, when their observers were last woken.
    private var noted: [Topic: UInt64] = [:]

    subscript(id: ObserverID) -> Observer? { observers[id] }
    var ids: some Collection<ObserverID> { observers.keys }
    var isEmpty: Bool { observers.isEmpty }

    mutating func add(_ id: ObserverID, _ topic: Topic) {
        observers[id] = Observer(topic: topic)
        if case .roster(let users) = topic { rosters[id] = HeldRoster(users) }
        for user in topic.users { byUser[user, default: []].insert(id) }
        if let conversation = topic.conversation { byConversation[conversation, default: []].insert(id) }
    }

    /// Removes an observer and wakes it, so that its loop ends. Returns its topic.
    mutating func remove(_ id: ObserverID) -> Topic? {
        woken.insert(id)
        guard let topic = observers.removeValue(forKey: id)?.topic else { return nil }
        rosters[id] = nil
        for user in topic.users {
            byUser[user]?.remove(id)
            if byUser[user]?.isEmpty == true { byUser[user] = nil }
        }
        if let conversation = topic.conversation {
            byConversation[conversation]?.remove(id)
            if byConversation[conversation]?.isEmpty == true { byConversation[conversation] = nil }
        }
        return topic
    }

    /// The observers of a topic.
    func ids(of topic: Topic) -> [ObserverID] {
        observers.filter { $0.value.topic == topic }.map(\.key)
    }

    // MARK: Changes

    mutating func peopleChanged(_ users: Set<UserID>) {
        for user in users {
            guard let ids = byUser[user] else { continue }
            woken.formUnion(ids)
            if !rosters.isEmpty {
                for id in ids { rosters[id]?.touch(user) }
            }
        }
    }

    mutating func conversationsChanged(_ conversations: Set<ConversationID>) {
        for conversation in conversations {
            if let ids = byConversation[conversation] { woken.formUnion(ids) }
        }
    }

    /// Notes the newest stamp of a topic, and wakes its observers if it is new.
    mutating func record(_ topic: Topic, stamp: UInt64) {
        guard noted.updateValue(stamp, forKey: topic) != stamp else { return }
        for (id, observer) in observers where observer.topic == topic { woken.insert(id) }
    }

    mutating func takeWoken() -> [ObserverID] {
        defer { woken = [] }
        return Array(woken)
    }

    // MARK: Reading

    /// The app received an element with this stamp.
    mutating func saw(_ id: ObserverID, _ stamp: UInt64) {
        observers[id]?.seen = stamp
    }

    mutating func nextRoster(_ id: ObserverID, _ person: (String) -> Person?) -> Roster? {
        rosters[id]?.next(person)
    }
}
