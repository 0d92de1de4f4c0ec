import Foundation
import PresenceKit

// @unchecked: `state` is only touched with the lock.
/// A client without a server: the test sets users, typing and connection, and calls are recorded.
///
/// ```swift
/// let presence = FakePresence(people: [.online("bob", name: "Bob")])
/// let model = RosterModel(presence, users: ["bob"])
/// presence.goOffline()
/// ```
///
/// While offline it follows a client's rules: reads return cached values, marked stale; writes are queued or fail.
/// ``fail(_:with:)`` scripts an error, ``hold()`` makes calls wait, ``delay`` lets them take time of ``clock``.
public final class FakePresence: PresenceService, @unchecked Sendable {
    /// A call of the fake.
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
        case setVisibility(Audience?, Audience?, receipts: Audience?, findable: Audience?)
        case visibility
        case addContacts([String])
        case removeContacts([String])
        case block([String])
        case unblock([String])
    }

    struct State {
        /// The values on the server.
        var people: [String: Person] = [:]
        /// Users who were requested and do not exist.
        var absent: Set<String> = []
        /// The values when the connection was lost; `nil` while there is one.
        var lastKnown: [String: Person]?
        /// Since when the server may have missed changes.
        var staleSince: Date?
        /// The typing users on the server, by conversation.
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
        /// The status chosen offline.
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

    /// Creates a fake whose server has these users.
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

    // MARK: For assertions

    /// All calls, in order.
    public var calls: [Call] { lock.withLock { state.calls } }

    /// The signed-in user now.
    public var me: Me { ownUser.value! }

    /// The number of loops that observe a user.
    public func loops(on user: String) -> Int { lock.withLock { state.watched[user] }?.loops ?? 0 }

    // MARK: The script

    /// Sets the values of users. While offline, they show with the next connection; only values with a stale freshness
    /// are shown at once, as last known.
    public func set(_ people: Person...) {
        set(people)
    }

    /// Sets the values of several users at once.
    public func set(_ people: [Person]) {
        lock.withLock {
            for person in people {
                state.people[person.user] = person
                if !person.freshness.isLive { state.lastKnown?[person.user] = person }
            }
        }
        publish(Set(people.map(\.user)))
    }

    /// Sets the users who type in a conversation. The signed-in user is not shown among them, and no users are shown
    /// while offline.
    public func setTyping(_ users: [String], in conversation: String, othersCount: Int = 0) {
        let me = me.user
        let typing = Typing(
            conversation: conversation, users: users.filter { $0 != me }, othersCount: othersCount, freshness: .live)
        lock.withLock { state.typists[conversation] = typing }
        feed(of: conversation).send(shownTyping(conversation))
    }

    /// Sets the signed-in user.
    public func set(_ me: Me) { ownUser.send(me) }

    /// Sets the state of the connection. Without one all values are stale and writes are queued; with one all values
    /// are live and the queue is done.
    public func set(_ state: ConnectionState) {
        switch state {
        case .idle, .connecting: connection.send(state)
        case .live, .stale: goOnline(as: state)
        case .reconnecting, .closed: goOffline(as: state, at: .inTests)
        }
    }

    /// Makes the next matching call fail.
    public func fail(_ matches: @escaping @Sendable (Call) -> Bool = { _ in true }, with error: any Error) {
        lock.withLock { state.failures.append((matches, error)) }
    }

    /// The duration of calls, by ``clock``; `nil`: none.
    public var delay: Duration? {
        get { lock.withLock { state.delay } }
        set { lock.withLock { state.delay = newValue } }
    }

    /// Makes calls wait until ``release()``.
    public func hold() { lock.withLock { state.isHolding = true } }

    /// Lets the waiting calls continue.
    public func release() {
        let held = lock.withLock {
            state.isHolding = false
            defer { state.held = [:] }
            return state.held.values
        }
        for continuation in held { continuation.resume() }
    }

    /// Ends the connection: all values are stale from now on.
    public func goOffline(at date: Date = Date(timeIntervalSince1970: 1_763_712_000)) {
        goOffline(as: .reconnecting(in: .seconds(1), because: .offline), at: date)
    }

    /// Restores the connection: all values are live, and queued changes are made.
    public func goOnline() { goOnline(as: .live) }
}

extension PresenceError {
    static let offline = PresenceError(.notConnected, "the test is offline", retryAfter: .seconds(1))
}
