import Foundation
import PresenceProtocol

/// The signed-in user: id, status, visibility, activity, typing and pending profile changes, all of which survive a
/// connection.
///
/// Methods that return messages return what to send if there is a connection. The resulting storage operations are
/// collected for ``takeStoring()``.
struct OwnUser: Sendable {
    /// `nil` until the server or the storage has reported it.
    private(set) var id: UserID?
    /// Whether only the storage has reported the id.
    private(set) var isRecalled = false
    private(set) var activity = Wire.Activity.active
    /// Increases with every change of id, status and visibility.
    private(set) var stamp: UInt64 = 0
    /// Increases with every change of ``shownStatus(on:)``.
    private(set) var statusStamp: UInt64 = 0 { didSet { stamp += 1 } }
    /// Increases with every change of ``keptChanges``.
    var keptStamp: UInt64 = 1
    /// The user of this client according to the token or the server; queued writes belong to them.
    private(set) var account: UserID?
    /// The owner that this process has set in the storage.
    private var notedOwner: UserID?
    /// The status that the server has stored.
    private var status: OwnStatus?
    private var statusStaleSince: Date?
    /// Choices that the server has not acknowledged.
    var choice = StatusQueue()
    private var visibility = OwnAudiences()
    var requests = OwnRequests()
    var profile = ProfileQueue()
    private var typing: OwnTyping
    /// Pending storage operations, and writes whose removal failed.
    var storing: [Directive] = []
    var unremoved: [String] = []
    /// The uptime at which to retry a failed removal.
    var removeAgainAt: Duration?
    let newID: @Sendable () -> String

    init(typingInterval: Duration, newID: @escaping @Sendable () -> String = { UUID().uuidString }) {
        typing = OwnTyping(interval: typingInterval)
        self.newID = newID
    }

    /// The storage has reported an earlier process's owner and its writes without a reply.
    mutating func recall(_ owner: UserID?, _ writes: [QueuedWrite], at now: Moment) {
        if id == nil, let owner {
            id = owner
            isRecalled = true
            stamp += 1
        }
        recall(writes.compactMap(\.profileChanges))
        choice.recall(writes, at: now)
    }

    /// Sets the user of the token that the next connection uses.
    mutating func identify(as user: UserID?) {
        guard let user else { return }
        account = user
        _ = choice.adopt(user)
    }

    /// The owner of writes that are queued now: the token's user, or the storage's if there is no token.
    var writer: UserID? { account ?? id }

    // MARK: The connection

    /// A connection begins. `connect` contained `activity` and `told`. Returns messages for everything that `connect`
    /// did not include and that the server no longer has.
    mutating func begin(
        as user: UserID, toldOf activity: Wire.Activity, _ told: PendingStatus?, at now: Moment
    ) -> [Outgoing] {
        let (uptime, date) = (now.uptime, now.wall)
        isRecalled = false
        requests.begin()
        account = user
        adoptKept(as: user, at: date)
        if id != user {
            id = user
            stamp += 1
        }
        if notedOwner != user {
            notedOwner = user
            storing.append(.storeOwner(user.string))
        }
        choice.begin()
        let overtaken = choice.adopt(user, after: told)
        if !overtaken.isEmpty { storing.append(.removeWrites(overtaken)) }
        choice.forgetOthers()
        var messages: [Outgoing] = []
        if let pending = choice.take() { messages.append(pending.message(at: uptime)) }
        if self.activity != activity { messages.append(Outgoing(.activity(self.activity))) }
        messages += typing.takeAll(at: uptime).map(Self.repetition)
        return messages + sendKept(at: uptime)
    }

    /// The connection has ended; the status was known to be current until `date`.
    mutating func lose(at date: Date) {
        visibility.lose()
        guard status != nil else { return }
        statusStaleSince = date
        statusStamp += 1
    }

    /// Changes in flight must be sent again.
    mutating func requeue() {
        profile.requeue()
    }

    /// The storage belongs to another user: the storage's data is dropped, but calls made in this process stay.
    mutating func forgetRecalled() {
        id = nil
        isRecalled = false
        visibility.forget()
        stamp += 1
    }

    /// Drops everything; returns the choice whose calls must still be answered.
    mutating func forget() -> PendingStatus? {
        id = nil
        isRecalled = false
        (account, notedOwner) = (nil, nil)
        status = nil
        visibility.forget()
        requests.forget()
        stamp += 1
        _ = typing.stopAll()
        profile = ProfileQueue()
        // Pending storage operations must not reach the next user's storage.
        (storing, unremoved, removeAgainAt) = ([], [], nil)
        keptStamp += 1
        defer { choice = StatusQueue() }
        return choice.pending
    }

    mutating func tick(at uptime: Duration) -> [Outgoing] {
        var messages = typing.takeDue(at: uptime).map(Self.repetition)
        if let removeAgainAt, removeAgainAt <= uptime { removeAgain() }
        if let due = choice.retryAt, due <= uptime, let pending = choice.take() {
            messages.append(pending.message(at: uptime))
        }
        return messages
    }

    /// The uptime at which there is something to do.
    var nextDeadline: Duration? {
        [typing.nextDue, profile.retryAt, choice.retryAt, removeAgainAt].compactMap(\.self).min()
    }

    // MARK: Status

    /// The server's current status.
    mutating func hold(_ status: OwnStatus) {
        self.status = status
        statusStaleSince = nil
        statusStamp += 1
    }

    /// The server may have missed changes, or no longer.
    mutating func freshnessChanged() {
        if status != nil { statusStamp += 1 }
    }

    /// The client closed, or opens again.
    mutating func problemChanged() { statusStamp += 1 }

    /// The chosen status, if known.
    func knownStatus(on link: Link) -> Me.Status? {
        status.map { status in
            Me.Status(
                status: ChosenStatus(status.status), text: status.text,
                clearsAt: status.clearAt.map(Date.init(timestamp:)),
                freshness: link.freshness(isConfirmed: true, staleSince: statusStaleSince),
                problem: link.closingProblem)
        }
    }

    /// The element for observers. If the client is closed, they get an element even if the status is unknown.
    func shownStatus(on link: Link) -> Me.Status? {
        knownStatus(on: link)
            ?? link.closingProblem.map { Me.Status(status: .auto, freshness: .unknown, problem: $0) }
    }

    // MARK: Audiences

    var audiences: Me.Audiences? { visibility.held }

    mutating func hold(_ audiences: Me.Audiences) {
        if visibility.hold(audiences) { stamp += 1 }
    }

    mutating func askForAudiences() -> [Outgoing] { visibility.ask() }

    // MARK: Activity

    mutating func setActivity(_ newer: Wire.Activity) -> [Outgoing] {
        guard newer != activity else { return [] }
        activity = newer
        return [Outgoing(.activity(newer))]
    }

    /// The app entered the background.
    mutating func background() -> [Outgoing] {
        typing.stopAll().map { Outgoing(.typing(conversation: $0, typing: false)) } + setActivity(.background)
    }

    /// The app is in the foreground again. The caller sends the activity, with a request that also probes the
    /// connection.
    mutating func foreground() {
        activity = .active
    }

    // MARK: Typing

    /// Starts typing; returns whether to send it. It is called on every key press and throttles: the indicator is only
    /// sent if it is not active yet.
    mutating func startTyping(in conversation: ConversationID, at uptime: Duration) -> Bool {
        guard !typing.contains(conversation) else { return false }
        typing.start(conversation, at: uptime)
        return true
    }

    /// Returns whether the user was typing there.
    mutating func stopTyping(in conversation: ConversationID) -> Bool {
        typing.stop(conversation)
    }

    private static func repetition(_ conversation: ConversationID) -> Outgoing {
        Outgoing(.typing(conversation: conversation, typing: true), .typing(conversation))
    }
}
