import Foundation
import PresenceKit

// @unchecked: `state` is only touched with the lock.
/// A client without a server: people, typing and the connection are as the test says, and calls are noted.
///
/// ```swift
/// let presence = FakePresence(people: [.online("bob", name: "Bob")])
/// let model = RosterModel(presence, users: ["bob"])
/// presence.goOffline()
/// ```
///
/// While it is offline it follows a client's rules: reads answer with what is held, marked stale, writes are queued or
/// fail. ``fail(_:with:)`` scripts an error, ``hold()`` lets calls wait, ``delay`` makes them take invented time.
public final class FakePresence: PresenceService, @unchecked Sendable {
    /// What was asked of it.
    public enum Call: Hashable, Sendable {
        case people([String])
        case setStatus(ChosenStatus, Change<String>, Duration?)
        case setActivity(Activity)
        case updateProfile(ProfileChanges, OfflinePolicy)
        case startTyping(String)
        case stopTyping(String)
        case createConversation([String], key: String?)
        case connect, disconnect, enterBackground, enterForeground, reconnectNow, signOut, switchUser, clearCache
        case networkChanged(Bool)
        case setVisibility(Audience?, Audience?, receipts: Audience?)
        case visibility
        case addContacts([String])
        case removeContacts([String])
        case block([String])
        case unblock([String])
    }

    struct State {
        /// As the server has them.
        var people: [String: Person] = [:]
        /// Who was asked for, and is not there.
        var absent: Set<String> = []
        /// As they were known when the connection was lost; `nil` while there is one.
        var lastKnown: [String: Person]?
        /// Since when the server has lost sight of the truth.
        var staleSince: Date?
        /// Who types, by conversation, as the server has it.
        var typists: [String: Typing] = [:]
        var conversations: [String: Feed<Typing>] = [:]
        var watched: [String: Feed<Person>] = [:]
        var rosters: [RosterFeed] = []
        var visibility = visibleToAll
        static let visibleToAll = MyVisibility(presence: .everyone, lastSeen: .everyone)
        var calls: [Call] = []
        var failures: [(matches: @Sendable (Call) -> Bool, error: any Error)] = []
        var delay: Duration?
        var isHolding = false
        var held: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastHeld = 0
        var offlineSince: Date?
        var isSignedOut = false
        var pending = PendingProfileChanges()
        /// Chosen offline.
        var chosen: MyStatus?
        var made: [String: Conversation] = [:]
        var ownUser: Feed<Me>
        var pendingProfile = Feed(PendingProfileChanges())

        init(me: Me) { ownUser = Feed(me) }
    }

    struct RosterFeed {
        let users: [String]
        weak var feed: Feed<[String: Person]>?
    }

    let lock = NSLock()
    var state: State
    /// The clock of ``delay``.
    public let clock: TestClock
    let connection: Feed<ConnectionState>
    var ownUser: Feed<Me> { lock.withLock { state.ownUser } }
    var pendingProfile: Feed<PendingProfileChanges> { lock.withLock { state.pendingProfile } }

    /// Makes a fake whose server knows these people.
    public init(
        user: String = "me", people: [Person] = [], connection: ConnectionState = .live, clock: TestClock = TestClock()
    ) {
        self.clock = clock
        self.connection = Feed(connection)
        state = State(me: Me(user: user, status: MyStatus(status: .auto, freshness: .live)))
        for person in people { state.people[person.user] = person }
        switch connection {
        case .reconnecting, .closed: goOffline(as: connection, at: .inTests)
        case .stale(let since): state.staleSince = since
        case .idle, .connecting, .live: break
        }
    }

    // MARK: What the test looks at

    /// What was asked of it, in order.
    public var calls: [Call] { lock.withLock { state.calls } }

    /// The own user as it is.
    public var me: Me { ownUser.value! }

    /// How many loops observe somebody.
    public func loops(on user: String) -> Int { lock.withLock { state.watched[user] }?.loops ?? 0 }

    // MARK: The script

    /// Somebody is like this now. While it is offline, that shows with the next connection; only somebody whose freshness is
    /// stale is shown at once, as last known.
    public func set(_ people: Person...) {
        set(people)
    }

    /// The same of several at once.
    public func set(_ people: [Person]) {
        lock.withLock {
            for person in people {
                state.people[person.user] = person
                if !person.freshness.isLive { state.lastKnown?[person.user] = person }
            }
        }
        publish(Set(people.map(\.user)))
    }

    /// These, and nobody else, type in a conversation; the own user is not shown among them, and nobody while it is offline.
    public func setTyping(_ users: [String], in conversation: String, othersCount: Int = 0) {
        let me = me.user
        let typing = Typing(
            conversation: conversation, users: users.filter { $0 != me }, othersCount: othersCount, freshness: .live)
        lock.withLock { state.typists[conversation] = typing }
        feed(of: conversation).send(shownTyping(conversation))
    }

    /// The own user is like this now.
    public func set(_ me: Me) { ownUser.send(me) }

    /// The connection is like this now: without one everything is stale and writes wait, with one all is live and done.
    public func set(_ state: ConnectionState) {
        switch state {
        case .idle, .connecting: connection.send(state)
        case .live, .stale: goOnline(as: state)
        case .reconnecting, .closed: goOffline(as: state, at: .inTests)
        }
    }

    /// The next call that matches fails.
    public func fail(_ matches: @escaping @Sendable (Call) -> Bool = { _ in true }, with error: any Error) {
        lock.withLock { state.failures.append((matches, error)) }
    }

    /// How long calls take, of ``clock``; `nil`: no time.
    public var delay: Duration? {
        get { lock.withLock { state.delay } }
        set { lock.withLock { state.delay = newValue } }
    }

    /// Lets calls wait until ``release()``.
    public func hold() { lock.withLock { state.isHolding = true } }

    /// Lets them go on.
    public func release() {
        let held = lock.withLock {
            state.isHolding = false
            defer { state.held = [:] }
            return state.held.values
        }
        for continuation in held { continuation.resume() }
    }

    /// The connection is lost: everything is stale from now on.
    public func goOffline(at date: Date = Date(timeIntervalSince1970: 1_763_712_000)) {
        goOffline(as: .reconnecting(in: .seconds(1), because: .offline), at: date)
    }

    /// The connection is back: everything is live, and what was queued is done.
    public func goOnline() { goOnline(as: .live) }
}

extension PresenceError {
    static let offline = PresenceError(.notConnected, "the test is offline", retryAfter: .seconds(1))
}
