import Foundation
import PresenceKit

/// The user's notifications from the app's backend, over a ``PresenceKit/PresenceClient``.
///
/// ```swift
/// let notifications = PresenceNotifications(client)
/// for await inbox in notifications.inbox { show(inbox.notifications, badge: inbox.unseenCount) }
/// ```
///
/// Guarantees: each notification arrives at least once on each device; the counts are the server's, from one moment,
/// and the same on all devices. A mark (seen, read or archived) is shown at once. It is in the client's storage when
/// the call that marks returns, and stays there until the server has accepted it, over restarts and lost connections.
///
/// Create one for each client. A sign-out of the client deletes all data.
public actor PresenceNotifications: ClientLibrary {
    nonisolated let client: PresenceClient
    let clock: any Clock<Duration>
    nonisolated let tasks = ClosableTasks()
    var isRestored = false
    var restorations: [CheckedContinuation<Void, Never>] = []

    var own: String? { didSet { outbox.owner = own } }
    var isOwnConfirmed = false
    private(set) var userNumber: UserNumber = 0
    var generation = 0
    var isConnected = false

    var held = HeldNotifications()
    private(set) var loops = Loops<NotificationInbox>()
    private var isWanted = false
    private var isSubscribing = false
    /// Why the server does not send notifications: `unknownType` if it does not offer them.
    public private(set) var problem: PresenceError?

    /// Marks and settings that the server has not accepted.
    var outbox = Outbox()
    var choices = HeldSettings()

    /// - Parameters:
    ///   - client: the client whose connection and storage are used.
    ///   - clock: the clock for retries after rate limits.
    public init(_ client: PresenceClient, clock: any Clock<Duration> = ContinuousClock()) {
        self.client = client
        self.clock = clock
        Task { [weak self] in await client.attach { [weak self] in await self?.handle($0) } }
    }

    private func restore() async {
        if let kept = try? await client.keptWrites(ofKinds: Outbox.notificationKinds) {
            own = kept.owner
            // Their owner is checked against the token or the first connection.
            outbox.recall(kept.writes)
        }
        endRestoration()
    }

    // MARK: Events

    private func handle(_ event: LibraryEvent) async {
        switch event {
        case .attached(let user):
            userNumber = user
            await restore()
        case .connected(let user): connected(user)
        case .event("notification", let data), .event("notificationCounts", let data):
            guard isWanted, let event = try? Wire.read(Wire.Notified.self, data) else { return }
            held.heard(event)
            publish()
        case .event("ownNotificationSettings", let data): hear(settings: data)
        case .identified(let user):
            if let user, user != own { adopt(user) }
        case .event: break
        case .forgotten(let user, let next):
            userNumber = user
            forget(next: next)
        case .closed: await close()
        }
    }

    private func close() async {
        generation += 1
        (isConnected, isOwnConfirmed) = (false, false)
        tasks.cancel()
        release(Outbox.settings, .refused(.clientClosed))
        loops.finish()
        choices.loops.finish()
        await tasks.close()
    }

    private func connected(_ user: String) {
        generation += 1
        isConnected = true
        if user != own { adopt(user) }
        isOwnConfirmed = true
        outbox.confirm(user)
        held.begin()
        if isWanted { subscribe() }
        pumpAll()
        readSettings()
    }

    func adopt(_ user: String) {
        if own != nil { forgetShown() }
        own = user
        release(Outbox.settings, .refused(.signedOut))
    }

    private func forget(next: String?) {
        generation += 1
        (isConnected, isOwnConfirmed, own) = (false, false, next)
        outbox.forget(keepingEntries: next != nil)
        release(Outbox.settings, .refused(.signedOut))
        forgetShown()
    }

    private func forgetShown() {
        if held.isKnown { loops.publish(NotificationInbox()) }
        (held, problem) = (HeldNotifications(), nil)
        forgetSettings()
    }

    // MARK: Reading

    /// Observes the notifications, newest first: a first element as soon as they are known, then one after each change,
    /// with the changes since the loop's previous element. It starts with the newest 50 and all unseen ones;
    /// ``loadEarlier(limit:)`` adds the page before. After each new connection it starts like this again, without the
    /// older pages.
    public nonisolated var inbox: PresenceUpdates<NotificationInbox> {
        let inboxes: LoopSequence<NotificationInbox> = loops(
            add: { notifications, id, loop in
                notifications.loops.add(id, loop, notifications.held.isKnown ? notifications.shown : nil)
                notifications.client.beginConnecting()
                notifications.want()
            }, remove: { $0.loops.remove($1) })
        return PresenceUpdates(Compared(inboxes) { $0.changed(since: $1) })
    }

    /// From now on notifications are subscribed to on every connection.
    private func want() {
        guard !isWanted else { return }
        isWanted = true
        subscribe()
    }

    private func subscribe() {
        guard isConnected, !isSubscribing else { return }
        isSubscribing = true
        run { notifications in
            await notifications.runForConnection { await $0.askForList() }
            notifications.isSubscribing = false
        }
    }

    private func askForList() async {
        var faults = 0
        while true {
            let asked = generation
            do throws(PresenceError) {
                let answers = try await askParts(
                    "subscribe", Ask(notifications: true), Wire.SubscribedToNotifications.self)
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
        var inbox = held.inbox(over: outbox.works.compactMap(\.notificationMarks))
        inbox.user = own
        return inbox
    }

    func publish() {
        if held.isKnown { loops.publish(shown) }
    }

    /// Loads the page before the oldest shown notification.
    ///
    /// - Parameter limit: 1 to 50.
    /// - Returns: whether there may be more.
    /// - Throws: `notConnected`, `connectionLost`; `unknownType` if the server has no pages.
    @discardableResult
    public func loadEarlier(limit: Int = 50) async throws -> Bool {
        // A page is read again if something changed while it was read, with a limit of attempts.
        await restored()
        let user = userNumber
        for _ in 0..<10 where held.hasEarlier {
            let asked = Ask(before: held.oldest, limit: limit)
            let page = try await call("getNotifications", asked, Wire.Notified.self, of: user)
            guard held.isLive else { break }
            guard held.apply(page: page) else { continue }
            publish()
            break
        }
        return held.hasEarlier
    }
}
