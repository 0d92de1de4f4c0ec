import Foundation
import PresenceKit

// The fake's behaviour behind its calls.
extension FakePresence {
    /// Records a call, then waits or fails as the test has set.
    func record(_ call: Call) async throws {
        let (delay, error) = lock.withLock {
            state.calls.append(call)
            let index = state.failures.firstIndex { $0.matches(call) }
            return (state.delay, index.map { state.failures.remove(at: $0).error })
        }
        if let delay { try await clock.sleep(for: delay) }
        await waitWhileHeld()
        try Task.checkCancellation()
        if let error { throw error }
    }

    /// Waits until the test releases the call, or its task is cancelled.
    private func waitWhileHeld() async {
        let number = lock.withLock {
            state.lastHeld += 1
            return state.lastHeld
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isHeld = lock.withLock {
                    guard state.isHolding, !Task.isCancelled else { return false }
                    state.held[number] = continuation
                    return true
                }
                if !isHeld { continuation.resume() }
            }
        } onCancel: {
            lock.withLock { state.held.removeValue(forKey: number) }?.resume()
        }
    }

    func recordAtOnce(_ call: Call) { lock.withLock { state.calls.append(call) } }

    /// Records a call that cannot be made offline.
    func recordOnline(_ call: Call) async throws {
        try await record(call)
        if isOffline { throw whyAway }
    }

    func known(_ user: String) -> Person {
        lock.withLock {
            if let held = state.lastKnown { return held[user] ?? Person(unknown: user) }
            guard let person = state.people[user] else {
                state.absent.insert(user)
                return Person(absent: user)
            }
            guard let since = state.staleSince, person.freshness.isLive else { return person }
            return person.with(.stale(since: since))
        }
    }

    /// The users of a roster as it is shown. Offline, users that were never seen are unknown.
    func shown(_ users: [String]) -> [String: Person] {
        var shown: [String: Person] = [:]
        for user in users {
            let person = shownPerson(user)
            if !PresenceID.isValid(user) {
                shown[user] = Person(unknown: user, problem: .refused(user))
            } else if person.freshness != .unknown {
                shown[user] = person
            }
        }
        return shown
    }

    func feed(of conversation: String) -> Feed<Typing> {
        let typing = shownTyping(conversation)
        return lock.withLock {
            if let feed = state.conversations[conversation] { return feed }
            let feed = Feed(typing)
            state.conversations[conversation] = feed
            return feed
        }
    }

    func watch(_ user: String) -> Feed<Person> {
        let person = shownPerson(user)
        return lock.withLock {
            if let feed = state.watched[user] { return feed }
            let feed = Feed(person)
            state.watched[user] = feed
            return feed
        }
    }

    /// Sends the new values of these users, or of all users, to their loops.
    func publish(_ users: Set<String>?) {
        let (watched, rosters) = lock.withLock { (state.watched, state.rosters) }
        for (user, feed) in watched where users?.contains(user) ?? true { feed.send(shownPerson(user)) }
        for roster in rosters where users.map({ !$0.isDisjoint(with: roster.users) }) ?? true {
            roster.feed?.send(shown(roster.users))
        }
    }

    /// Changes the signed-in user's profile as a server would.
    func apply(_ changes: ProfileChanges) -> PersonProfile {
        let changes = changes.trimmed
        var me = ownUser.value!
        var profile = me.profile ?? PersonProfile(user: me.user ?? "", freshness: .live)
        func change<Value>(_ change: Change<Value>, _ member: WritableKeyPath<PersonProfile, Value?>) {
            switch change {
            case .keep: break
            case .remove: profile[keyPath: member] = nil
            case .set(let value): profile[keyPath: member] = value
            }
        }
        profile.exists = true
        profile.version += 1
        change(changes.displayName, \.displayName)
        change(changes.photoURL, \.photoURL)
        change(changes.timezone, \.timezone)
        change(changes.locale, \.locale)
        me.profile = profile
        ownUser.send(me)
        // Also updates loops that observe this user like any other.
        if let user = me.user {
            var person = known(user)
            person.profile = profile
            set(person)
        }
        return profile
    }

    func queue(_ changes: ProfileChanges) {
        let pending = lock.withLock {
            var waiting = state.pending.waiting ?? ProfileChanges()
            if changes.displayName != .keep { waiting.displayName = changes.displayName }
            if changes.photoURL != .keep { waiting.photoURL = changes.photoURL }
            if changes.timezone != .keep { waiting.timezone = changes.timezone }
            if changes.locale != .keep { waiting.locale = changes.locale }
            state.pending.waiting = waiting
            return state.pending
        }
        pendingProfile.send(pending)
    }

    func changeVisibility(_ change: (inout MyVisibility) -> Void) {
        let visibility = lock.withLock {
            change(&state.visibility)
            return state.visibility
        }
        var me = ownUser.value!
        me.visibility = MyAudiences(
            presence: visibility.presence, lastSeen: visibility.lastSeen, receipts: visibility.receipts,
            findable: visibility.findable, contactsCount: visibility.contacts.count,
            blockedCount: visibility.blocked.count)
        ownUser.send(me)
    }
}

extension Person {
    /// A user who does not exist on the server, or is hidden.
    public init(absent user: String) {
        self.init(
            presence: PersonPresence(user: user, freshness: .live), profile: PersonProfile(user: user, freshness: .live)
        )
    }

    /// A user who is online.
    public static func online(
        _ user: String, name: String? = nil, status: PresenceStatus = .online, text: String? = nil,
        devices: [DeviceKind] = [.phone]
    ) -> Person {
        Person(
            presence: PersonPresence(
                user: user, status: status, since: .inTests, text: text, devices: devices, version: 1, freshness: .live),
            profile: PersonProfile(
                user: user, exists: name != nil, displayName: name, version: name == nil ? 0 : 1, freshness: .live))
    }

    /// A user who is offline.
    public static func offline(_ user: String, name: String? = nil, lastSeen: Date = .inTests) -> Person {
        Person(
            presence: PersonPresence(
                user: user, status: .offline, since: lastSeen, lastSeen: lastSeen, version: 1, freshness: .live),
            profile: PersonProfile(
                user: user, exists: name != nil, displayName: name, version: name == nil ? 0 : 1, freshness: .live))
    }

    func with(_ problem: PresenceError) -> Person {
        var person = self
        person.presence.problem = problem
        person.profile.problem = problem
        return person
    }

    func with(_ freshness: Freshness) -> Person {
        var person = self
        person.presence.freshness = freshness
        person.profile.freshness = freshness
        return person
    }
}

extension PresenceError {
    static func refused(_ id: String) -> PresenceError {
        PresenceError(.invalidID, "not an id (1 to 128 bytes of printable ASCII without space): \(id.debugDescription)")
    }
}

extension Date {
    /// 21 November 2025, 08:00 UTC, an arbitrary time.
    public static let inTests = Date(timeIntervalSince1970: 1_763_712_000)
}
