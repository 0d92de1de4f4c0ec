import Foundation
import PresenceProtocol

/// The client's side of the protocol as a value: it takes inputs with the time, returns directives, and does no I/O.
/// The page beside this folder shows its parts, and the way of an event. All inputs of one moment form a turn.
///
/// Guarantees: every call gets a result, even if the reply is lost; a value shown as live was confirmed on the current
/// connection and includes every change since; every observed topic is subscribed to again on each connection. Memory
/// is bounded by the number of calls and topics of the app.
struct Engine: Sendable {
    var link: Link
    var watchlist: Watchlist
    var observers = Observers()
    var me: OwnUser
    var requests = RequestTable()
    var calls: Calls
    var lookups = Lookups()
    var completions = Completions()
    /// The user whose profile is observed on behalf of each observer of the signed-in user.
    var myProfiles: [ObserverID: UserID] = [:]
    /// Increases with every change of ``shownMe``.
    private(set) var myStamp: UInt64 = 1
    /// The parts of ``shownMe`` at the last check, to detect the next change.
    private var myParts: (own: UInt64, profile: UInt64, queued: Wire.ChosenStatus?, refusal: PresenceError?) =
        (0, 0, nil, nil)
    /// The number of cache reads that were requested, and of those that have completed.
    var lastReading: CacheReading = 0
    var lastRead: CacheReading = 0
    /// The last cache read of a former user. Its result must not be shown to the current one.
    var lastForeignReading: CacheReading = 0
    /// Whether the storage may still report its owner: not after a sign-out or a change of user.
    var awaitsOwner = true
    /// Whether libraries know the user, or that this takes long.
    var isIdentified = false
    /// From a sign-out until the app connects again or changes the user: calls fail.
    var isSignedOut = false
    var userNumber: UserNumber = 0
    /// Requests larger than the server accepts; they are rejected when the turn ends.
    private var oversized: [(request: Request, error: PresenceError)] = []
    private var loggedStamp: UInt64 = 1
    /// The directives of the current input.
    private var outbox: [Directive] = []
    /// Whether the last reference to the client was released: there are no further deadlines.
    private var isAbandoned = false

    init(
        configuration: PresenceClient.Configuration, device: PresenceProtocol.Device, flaw: PresenceError? = nil,
        tokenIsFixed: Bool = false, random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        link = Link(
            configuration: configuration, device: device, flaw: flaw, tokenIsFixed: tokenIsFixed, random: random)
        watchlist = Watchlist(grace: configuration.unsubscribeGrace)
        me = OwnUser(typingInterval: configuration.typingInterval)
        calls = Calls(timeout: configuration.requestTimeout)
    }

    /// Handles an input and returns the resulting directives. Input from an earlier attempt's connection is ignored.
    mutating func handle(_ input: Input, at now: Moment) -> [Directive] {
        switch input {
        case .connect:
            isSignedOut = false
            connect(again: true, at: now)
        case .use: connect(again: false, at: now)
        case .signedIn(let user): signIn(user, at: now)
        case .reconnect: reconnect(at: now)
        case .network(let isThere): network(isThere, at: now)
        case .background: background()
        case .foreground: foreground(at: now)
        case .activity(let activity): sendIfConnected(me.setActivity(activity))
        case .typing(let conversation, let isTyping): type(conversation, isTyping, at: now)
        case .call(let id, let call): begin(id, call, at: now)
        case .cancel(let id): cancel(id)
        case .disconnect(let id): disconnect(id, at: now)
        case .signOut(let id): signOut(id, at: now)
        case .switchUser(let id): switchUser(id, at: now)
        case .clearCache(let id): clearCache(id, at: now)
        case .close(let id): close(id, at: now)
        case .observe(let id, let topic): observe(id, topic, at: now)
        case .unobserve(let id): unobserve(id, at: now)
        case .abandon:
            isAbandoned = true
            emit(.cancelFetch)
            disconnect(at: now)

        case .token(link.attempt, let result): tokenFetched(result, at: now)
        case .opened(link.attempt): opened(at: now)
        case .received(link.attempt, let bytes):
            link.receive(at: now)
            receive(bytes, at: now)
        case .alive(link.attempt): link.receive(at: now)
        case .ended(let attempt, let ending):
            emit(completions.ended(attempt))
            if attempt == link.attempt { end(ending, at: now) }
        case .token, .opened, .received, .alive: break
        case .cached(let found): recall(found)
        case .cacheCleared(let clearing): emit(completions.cleared(clearing))
        case .recalled(let owner, let writes): recall(owner, writes, at: now)
        case .stored(let write, let error): stored(write, error)
        case .removed(let writes, let error): removed(writes, error, at: now)

        case .tick: tick(at: now)
        case .turnEnded: endTurn(at: now)
        }
        defer { outbox = [] }
        return outbox
    }

    /// Subscribes to newly observed topics, writes the cache, and wakes the observers of changed values.
    private mutating func endTurn(at now: Moment) {
        if link.isConnected { advance(at: now) }
        send(watchlist.updateSubscriptions(at: now.uptime, limits: link.isConnected ? link.limits : nil))
        if link.isConnected { send(lookups.ask(at: now.uptime, link.limits)) }
        refuseOversized(at: now)
        answerSaved()
        emit(me.takeStoring(at: now))
        let uncached = watchlist.takeUncached(at: link.clock.date(at: now))
        if !uncached.isEmpty { emit(.writeCache(uncached)) }
        observers.peopleChanged(watchlist.takeChangedPeople())
        observers.conversationsChanged(watchlist.takeChangedConversations())
        observers.record(.connection, stamp: link.stamp)
        checkMe()
        observers.record(.ownStatus, stamp: me.statusStamp)
        observers.record(.contactRequests, stamp: me.requests.stamp)
        me.checkKept()
        observers.record(.keptProfile, stamp: me.keptStamp)
        let woken = observers.takeWoken()
        if !woken.isEmpty { emit(.wake(woken)) }
    }

    /// Checks whether the signed-in user changed, including their profile.
    private mutating func checkMe() {
        let parts = (
            own: me.stamp, profile: me.id.flatMap { watchlist.people[$0]?.stamp } ?? 0,
            queued: me.choice.promised(to: me.writer)?.status, refusal: me.choice.refusal
        )
        if parts != myParts {
            myParts = parts
            myStamp += 1
        }
        observers.record(.me, stamp: myStamp)
        guard link.stamp != loggedStamp else { return }
        loggedStamp = link.stamp
        emit(.log(.notice, link.state.sentence))
    }

    /// Whether something is under way that a suspension of the app would interrupt: an attempt to connect, a request
    /// without a reply, or a call.
    var isBusy: Bool { link.isUnderWay && !link.isConnected || !requests.isEmpty || !calls.isEmpty }

    // MARK: Time

    /// The uptime of the next ``Input/tick``, which may come late but not early.
    var nextDeadline: Duration? {
        if isAbandoned { return nil }
        let isConnected = link.isConnected
        return [
            link.nextDeadline, isConnected ? me.nextDeadline : nil, isConnected ? requests.probeDue : nil,
            isConnected ? lookups.nextDeadline : nil, calls.nextDeadline(whileConnected: isConnected),
            watchlist.nextDeadline(whileConnected: isConnected), completions.nextDeadline,
        ].compactMap(\.self).min()
    }

    private mutating func tick(at now: Moment) {
        switch link.expiry(at: now.uptime) {
        case .end(let ending): end(ending, at: now)
        case .hangUp(let ending): hangUp(ending, at: now)
        case .start: emit(link.start(at: now))
        case nil: if link.isConnected { keepAlive(at: now) }
        }
        if link.becomesSlow(at: now.uptime) {
            identify(at: now)
            for id in lookups.ids { tryCache(id) }
        }
        if link.becomesLate(at: now.uptime) { failWhatCannotWait() }
        for id in calls.late(at: now.uptime) { timeOut(id) }
        emit(completions.expire(at: now.uptime))
    }

    private mutating func keepAlive(at now: Moment) {
        if let due = requests.probeDue, due <= now.uptime { return reconnect(at: now) }
        emit(link.tick(at: now.uptime))
        send(me.tick(at: now.uptime))
        send(calls.takeRepeats(at: now.uptime))
    }

    // MARK: What leaves

    mutating func emit(_ directive: Directive) {
        outbox.append(directive)
    }

    mutating func emit(_ directives: [Directive]) {
        outbox += directives
    }

    mutating func send(_ messages: [Outgoing]) {
        for message in messages {
            do throws(PresenceError) {
                outbox.append(try requests.send(message, limit: link.limits.maxMessageBytes))
            } catch {
                if let request = message.request { oversized.append((request, error)) }
                emit(.log(.error, "not sent: \(error)"))
            }
        }
    }

    /// Rejects oversized requests here, because the server would close the connection.
    private mutating func refuseOversized(at now: Moment) {
        while !oversized.isEmpty {
            let (request, error) = oversized.removeFirst()
            refuse(request, error, at: now)
        }
    }

    mutating func send(_ body: ClientMessage.Body, _ request: Request? = nil) {
        send([Outgoing(body, request)])
    }

    mutating func sendIfConnected(_ messages: [Outgoing]) {
        if link.isConnected { send(messages) }
    }
}
