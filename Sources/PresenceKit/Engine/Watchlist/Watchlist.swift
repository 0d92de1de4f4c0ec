import Foundation
import PresenceProtocol

/// The observed users and conversations: the value and the subscription state of each, and the users to be written to
/// the cache.
struct Watchlist: Sendable {
    private(set) var people = Watched<HeldPerson>()
    private(set) var conversations = Watched<HeldConversation>()
    /// Subscriptions that the server has, or that were requested.
    private(set) var subscriptions = 0
    /// Users whose cached copy is outdated.
    private var uncached: Set<UserID> = []
    /// Users removed in this turn, with their last values.
    private var left: [(user: UserID, person: HeldPerson)] = []
    /// How long a subscription stays after its last observer.
    private let grace: Duration

    init(grace: Duration) {
        self.grace = grace
    }

    // MARK: Observers

    mutating func join(_ topic: Topic) {
        for user in topic.users { people.join(user) }
        if let conversation = topic.conversation { conversations.join(conversation) }
    }

    mutating func leave(_ topic: Topic, at uptime: Duration) {
        for user in topic.users { people.leave(user, at: uptime + grace) }
        if let conversation = topic.conversation { conversations.leave(conversation, at: uptime + grace) }
    }

    /// The users of a topic that have no value yet.
    func unknown(in topic: Topic) -> [UserID] {
        topic.users.filter { people[$0]?.isKnown != true }
    }

    /// Removes all observed items.
    mutating func removeAll() {
        people.removeAll()
        conversations.removeAll()
        uncached = []
    }

    /// Takes the changes since the end of the last turn, whose observers must be woken.
    mutating func takeChangedPeople() -> Set<UserID> { people.takeChanged() }
    mutating func takeChangedConversations() -> Set<ConversationID> { conversations.takeChanged() }

    // MARK: From the server

    mutating func apply(_ presence: Presence, to user: UserID, _ arrival: Arrival?) {
        if people.update(user, .presence, { $0.apply(presence, arrival) }) { uncached.insert(user) }
    }

    mutating func apply(_ profile: ProfileRegister, to user: UserID, _ arrival: Arrival?) {
        if people.update(user, .profile, { $0.apply(profile, arrival) }) { uncached.insert(user) }
    }

    mutating func apply(_ event: ServerMessage.TypingEvent, _ arrival: Arrival?) {
        conversations.update(event.conversation) { $0.apply(event, arrival) }
    }

    /// A part of the reply to a subscription.
    mutating func replace(with users: [UserSnapshot], _ answered: [ServerMessage.ConversationSnapshot]) {
        for snapshot in users {
            confirm(snapshot.user) { $0.replace(with: snapshot) }
        }
        for snapshot in answered {
            // Its observers are woken when the reply is complete.
            conversations.update(snapshot.conversation) { conversation in
                conversation.replace(with: snapshot)
                return false
            }
        }
    }

    /// The reply is complete. Users omitted from it have not changed.
    mutating func answered(_ users: [UserID]) {
        for user in users where people[user]?.isConfirmed == false { confirm(user) { _ in } }
        for user in users { people.answered(user) }
    }

    mutating func answered(_ conversation: ConversationID) {
        conversations.update(conversation) { conversation in
            conversation.confirm()
            return true
        }
        conversations.answered(conversation)
    }

    private mutating func confirm(_ user: UserID, _ change: (inout HeldPerson) -> Void) {
        let isHeld = people.update(user) { person in
            change(&person)
            person.confirm()
            return true
        }
        if isHeld { uncached.insert(user) }
    }

    /// The server could not answer, or rejected these subscriptions.
    mutating func refuse(_ users: [UserID], _ error: PresenceError, at uptime: Duration) {
        for user in users where people.refuse(user, error, at: uptime) { subscriptions -= 1 }
    }

    mutating func refuse(_ conversation: ConversationID, _ error: PresenceError, at uptime: Duration) {
        if conversations.refuse(conversation, error, at: uptime) { subscriptions -= 1 }
    }

    /// The client closed, or opens again: all observers are woken.
    mutating func problemChanged() {
        people.touch { _ in true }
        conversations.touch { _ in true }
    }

    /// A topic is observed while the client is closed: its observers get an element with the problem, even if no value
    /// is known.
    mutating func problemChanged(of topic: Topic) {
        for user in topic.users { people.update(user) { _ in true } }
        if let conversation = topic.conversation { conversations.update(conversation) { _ in true } }
    }

    /// The server may have missed changes, or no longer.
    mutating func freshnessChanged() {
        people.touch { $0.isConfirmed }
        conversations.touch { $0.isConfirmed }
    }

    // MARK: The connection

    /// A connection begins: all observed items must be subscribed.
    mutating func unsettle() {
        people.unsettle()
        conversations.unsettle()
    }

    /// The connection has ended: values known to be current until `date` are now stale.
    mutating func lose(at date: Date) {
        subscriptions = 0
        uncached.formUnion(people.lose(at: date))
        _ = conversations.lose(at: date)
    }

    /// Another user signed in: values that the former one could see are dropped.
    mutating func forget(at date: Date) {
        people.forget(at: date)
        conversations.forget(at: date)
        uncached = []
    }

    // MARK: The cache

    /// The cache has replied.
    mutating func recall(_ found: [CachedPerson]) {
        for cached in found {
            guard let user = UserID(cached.user), people[user]?.isConfirmed == false else { continue }
            people.update(user) { $0.recall(cached) }
        }
    }

    /// The app may be terminated soon: live values are cached as current now.
    mutating func cacheConfirmed() {
        for user in people.ids where people[user]!.isConfirmed { uncached.insert(user) }
    }

    /// The users to be cached, at the server's `date`.
    mutating func takeUncached(at date: Date) -> [CachedPerson] {
        defer {
            left = []
            uncached = []
        }
        return left.compactMap { $0.person.cached(as: $0.user, at: date) }
            + uncached.compactMap { people[$0]?.cached(as: $0, at: date) }
    }

    // MARK: Subscriptions

    /// Subscribes to newly observed items, and unsubscribes from those no longer observed. `limits` are those of the
    /// current connection; `nil` without one.
    mutating func updateSubscriptions(at uptime: Duration, limits: ConnectionLimits?) -> [Outgoing] {
        guard !people.isSettled || !conversations.isSettled else { return [] }
        // Without room for all observed items, unobserved ones lose their grace period.
        let isCrowded = limits.map { subscriptions + people.wanting + conversations.wanting > $0.subscriptions }
        let left = takeLeft(at: isCrowded == true ? nil : uptime)
        guard let limits else { return [] }
        return unsubscribe(left.users, left.conversations, limits) + subscribe(at: uptime, limits)
    }

    /// Removes items that are no longer observed; returns the ids of those that the server has subscribed.
    private mutating func takeLeft(at uptime: Duration?) -> (users: [UserID], conversations: [ConversationID]) {
        let people = people.takeLeft(at: uptime)
        for (user, person) in people {
            left.append((user, person))
            uncached.remove(user)
        }
        let conversations = conversations.takeLeft(at: uptime)
        return (
            people.filter { $0.item.watch.stage == .watched }.map(\.id).sorted(),
            conversations.filter { $0.item.watch.stage == .watched }.map(\.id).sorted()
        )
    }

    private mutating func unsubscribe(
        _ users: [UserID], _ left: [ConversationID], _ limits: ConnectionLimits
    ) -> [Outgoing] {
        guard !users.isEmpty || !left.isEmpty else { return [] }
        subscriptions -= users.count + left.count
        people.readmit()
        conversations.readmit()
        return limits.batches(of: users, bytes: \.longestBytes).map {
            Outgoing(.unsubscribe(users: $0, conversations: []), .unsubscribe)
        }
            + limits.batches(of: left, bytes: \.longestBytes).map {
                Outgoing(.unsubscribe(users: [], conversations: $0), .unsubscribe)
            }
    }

    private mutating func subscribe(at uptime: Duration, _ limits: ConnectionLimits) -> [Outgoing] {
        var room = limits.subscriptions - subscriptions
        let users = people.takeWanting(at: uptime, room: &room, refusal: .noRoom(limits))
        let asked = conversations.takeWanting(at: uptime, room: &room, refusal: .noRoom(limits))
        subscriptions += users.count + asked.count
        let batches = limits.batches(of: users) { $0.longestBytes * 2 + 80 }.map { batch in
            var known: [UserID: ClientMessage.KnownVersions] = [:]
            for user in batch { known[user] = people[user]?.knownVersions }
            return Outgoing(.subscribe(.init(users: batch, known: known)), .subscribe(batch))
        }
        // One message each, because a forbidden conversation would cause the whole message to be rejected.
        return batches + asked.map { Outgoing(.subscribe(.init(conversations: [$0])), .subscribeConversation($0)) }
    }

    /// The uptime at which a subscription must be checked next.
    func nextDeadline(whileConnected isConnected: Bool) -> Duration? {
        [people.nextDeadline(whileConnected: isConnected), conversations.nextDeadline(whileConnected: isConnected)]
            .compactMap(\.self).min()
    }
}

extension PresenceError {
    fileprivate static func noRoom(_ limits: ConnectionLimits) -> PresenceError {
        PresenceError(.tooMany, "a connection can observe at most \(limits.subscriptions) users")
    }
}
