import Foundation
import PresenceKit

/// What the app's backend told the own user, over a ``PresenceKit/PresenceClient``.
///
/// ```swift
/// let notifications = PresenceNotifications(client)
/// for await inbox in notifications.inbox { show(inbox.notifications, badge: inbox.unseenCount) }
/// ```
///
/// It guarantees: each notification comes at least once, to each device; the counts are the server's, of one moment, and the
/// same on all devices. What the user marks is shown at once, is in the client's storage when the call returns, and stays
/// there until the server has taken it, over restarts and breaks.
///
/// One of it for each client. A sign-out of the client forgets everything.
public actor PresenceNotifications: ClientLibrary {
    nonisolated let client: PresenceClient
    let clock: any Clock<Duration>
    private nonisolated let events: AsyncStream<LibraryEvent>.Continuation
    var isRestored = false
    var restorations: [CheckedContinuation<Void, Never>] = []

    var own: String?
    var isOwnConfirmed = false
    var generation = 0
    var isConnected = false

    var held = HeldNotifications()
    private var loops = Loops<NotificationInbox>()
    private var isWanted = false
    private var isSubscribing = false
    /// Why the server does not tell them: `unknownType` if it has none.
    public private(set) var problem: PresenceError?

    /// Marks that the server has not taken, in order.
    var waiting: [WaitingMarks] = []
    var isMarking = false

    /// - Parameters:
    ///   - client: whose connection and storage it uses.
    ///   - clock: tells when to try again what the server found too fast.
    public init(_ client: PresenceClient, clock: any Clock<Duration> = ContinuousClock()) {
        self.client = client
        self.clock = clock
        let (stream, events) = AsyncStream.makeStream(of: LibraryEvent.self)
        self.events = events
        Task { [weak self] in
            await self?.restore()
            await client.attach { events.yield($0) }
            for await event in stream { await self?.handle(event) }
        }
    }

    deinit { events.finish() }

    private func restore() async {
        if let kept = try? await client.keptWrites(ofKinds: [WaitingMarks.kind]) {
            own = kept.owner
            // Whose they are may turn out with the token or the first connection.
            waiting = kept.writes.compactMap(WaitingMarks.init)
        }
        endRestoration()
    }

    // MARK: What happens

    private func handle(_ event: LibraryEvent) {
        switch event {
        case .connected(let user): connected(user)
        case .event("notification", let data), .event("notificationCounts", let data):
            guard isWanted, let event = try? Wire.read(Wire.Notified.self, data) else { return }
            held.heard(event)
            publish()
        case .event: break
        case .forgotten: forget()
        }
    }

    private func connected(_ user: String) {
        generation += 1
        isConnected = true
        (own, isOwnConfirmed) = (user, true)
        waiting.removeAll { $0.owner != user }
        held.begin()
        if isWanted { subscribe() }
        pump()
    }

    func adopt(_ user: String) { own = user }

    private func forget() {
        generation += 1
        (isConnected, isOwnConfirmed, own, waiting, problem) = (false, false, nil, [], nil)
        if held.isKnown { loops.publish(NotificationInbox()) }
        held = HeldNotifications()
    }

    // MARK: Reading

    /// All that is shown, newest first: as soon as it is known, then after each change, with what has changed since the
    /// loop's last element. It begins with the newest 50 and all unseen ones; ``loadEarlier(limit:)`` adds the page before.
    /// Each new connection begins like this again: the older pages have to be asked for anew.
    public nonisolated var inbox: PresenceUpdates<NotificationInbox> {
        NotificationInbox.updates(
            LoopSequence<NotificationInbox>(begin: { await self.begin($0, $1) }, end: { await self.end($0) }))
    }

    private func begin(_ id: UUID, _ loop: AsyncStream<NotificationInbox>.Continuation) async {
        await restored()
        loops.add(id, loop, held.isKnown ? shown : nil)
        client.connect()
        want()
    }

    private func end(_ id: UUID) { loops.remove(id) }

    /// From now on they are told, on every connection.
    private func want() {
        guard !isWanted else { return }
        isWanted = true
        subscribe()
    }

    private func subscribe() {
        guard isConnected, !isSubscribing else { return }
        isSubscribing = true
        Task {
            var asked = self.generation
            repeat {
                asked = self.generation
                await self.askForList()
            } while self.isConnected && asked != self.generation
            self.isSubscribing = false
        }
    }

    private func askForList() async {
        var faults = 0
        while true {
            let asked = generation
            do throws(PresenceError) {
                let parts: [Data] = try await client.ask("subscribe", Ask.Notifications())
                let answers = try parts.map { (data) throws(PresenceError) in
                    try Wire.read(Wire.SubscribedToNotifications.self, data)
                }
                guard asked == generation else { return }
                let isAll = held.answered(answers.compactMap(\.notifications))
                problem = nil
                publish()
                if isAll { return }
                held.begin()
            } catch {
                if asked == generation, !error.isPassing { problem = error }
                guard await mayRetry(after: error, asked, faults: &faults) else { return }
            }
        }
    }

    var shown: NotificationInbox {
        var inbox = held.inbox(over: waiting.map(\.marks))
        inbox.user = own
        return inbox
    }

    func publish() {
        if held.isKnown { loops.publish(shown) }
    }

    /// Adds the page before the oldest notification that is shown.
    ///
    /// - Parameter limit: 1 to 50.
    /// - Returns: whether there may be more.
    /// - Throws: `notConnected`, `connectionLost`; `unknownType` if the server does not know of pages.
    @discardableResult
    public func loadEarlier(limit: Int = 50) async throws -> Bool {
        // A page is read again if something changed meanwhile, which it does not know; not for ever.
        for _ in 0..<10 where held.hasEarlier {
            let page = try await client.call(
                "getNotifications", Ask.NotificationPage(before: held.oldest, limit: limit), Wire.Notified.self)
            guard held.isLive else { break }
            guard held.take(page: page) else { continue }
            publish()
            break
        }
        return held.hasEarlier
    }
}
