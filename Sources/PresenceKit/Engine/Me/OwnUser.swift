import Foundation
import PresenceProtocol

/// The signed-in user: id, status, visibility, activity, typing and pending profile changes, all of which survive a
/// connection.
///
/// Methods that return messages return what to send if there is a connection. The resulting storage operations are
/// collected for ``takeStoring(at:)``.
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
    private(set) var keptStamp: UInt64 = 1
    private var shownKept: (waiting: Wire.ProfileChanges?, refusal: PresenceError?)
    /// The user of this client according to the token or the server; queued writes belong to them.
    private(set) var account: UserID?
    /// The owner that this process has set in the storage.
    private var notedOwner: UserID?
    /// The status that the server has stored.
    private var status: OwnStatus?
    private var statusStaleSince: Date?
    /// Choices that the server has not acknowledged.
    var choice = WriteLane<PendingStatus>()
    /// Profile changes that the server has not acknowledged.
    var profile = WriteLane<KeptProfile>()
    private var visibility = OwnAudiences()
    var requests = OwnRequests()
    private var typing: OwnTyping
    /// The owner to be set in the storage.
    private var newOwner: Directive?
    /// Writes whose removal from the storage failed, and the uptime at which to retry it.
    private var unremoved: [String] = []
    private var removeAgainAt: Duration?

    init(typingInterval: Duration) { typing = OwnTyping(interval: typingInterval) }

    /// The storage has reported an earlier process's owner and its writes without a reply.
    mutating func recall(_ owner: UserID?, _ writes: [QueuedWrite], at now: Moment) {
        if id == nil, let owner {
            id = owner
            isRecalled = true
            stamp += 1
        }
        profile.recall(writes, at: now)
        choice.recall(writes, at: now)
    }

    /// Sets the user of the token that the next connection uses; `nil` if the token does not name them.
    mutating func identify(as user: UserID?) {
        account = user ?? account
        profile.identify(as: user)
        choice.identify(as: user)
    }

    /// The owner of writes that are queued now: the token's user, or the storage's if there is no token.
    var writer: UserID? { account ?? id }

    // MARK: The connection

    /// A connection begins. `connect` contained `activity` and `told`. Returns messages for everything that `connect`
    /// did not include and that the server no longer has.
    mutating func begin(
        as user: UserID, toldOf activity: Wire.Activity, _ told: PendingStatus?, at uptime: Duration
    ) -> [Outgoing] {
        isRecalled = false
        requests.begin()
        account = user
        profile.adopt(user)
        choice.adopt(user, after: told)
        if id != user {
            id = user
            stamp += 1
        }
        if notedOwner != user {
            notedOwner = user
            newOwner = .storeOwner(user.string)
        }
        var messages: [Outgoing] = []
        if self.activity != activity { messages.append(Outgoing(.activity(self.activity))) }
        return messages + typing.takeAll(at: uptime).map(Self.repetition)
    }

    /// The choices that wait, if they are due.
    mutating func sendChoice(at uptime: Duration) -> [Outgoing] {
        choice.take(at: uptime).map { [.status($0, at: uptime)] } ?? []
    }

    /// The stored profile changes, if any can be sent now and none is in flight.
    mutating func sendKept(at uptime: Duration) -> [Outgoing] {
        profile.take(at: uptime).map { [Outgoing(.updateProfile($0.body.changes), .keptProfile($0.ticket))] } ?? []
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
        choice.lose()
        profile.lose()
    }

    /// The storage belongs to another user: the storage's data is dropped, but calls made in this process stay.
    mutating func forgetRecalled() {
        id = nil
        isRecalled = false
        visibility.forget()
        stamp += 1
    }

    /// Drops everything, or everything but pending writes; returns the choices whose calls must still be answered.
    mutating func forget(keepingWrites: Bool) -> [WriteLane<PendingStatus>.Part] {
        id = nil
        isRecalled = false
        (account, notedOwner) = (nil, nil)
        status = nil
        visibility.forget()
        requests.forget()
        stamp += 1
        _ = typing.stopAll()
        if keepingWrites {
            newOwner = nil
            profile.leave()
            choice.leave()
            return []
        }
        _ = profile.forget()
        // Pending storage operations must not reach the next user's storage.
        (newOwner, unremoved, removeAgainAt) = (nil, [], nil)
        return choice.forget()
    }

    mutating func tick(at uptime: Duration) -> [Outgoing] { typing.takeDue(at: uptime).map(Self.repetition) }

    /// The uptime at which there is something to do.
    var nextDeadline: Duration? {
        [typing.nextDue, profile.retryAt, choice.retryAt, removeAgainAt].compactMap(\.self).min()
    }

    // MARK: The storage

    /// Returns the pending storage operations. Failed removals are retried together with the next operation.
    mutating func takeStoring(at now: Moment) -> [Directive] {
        var directives = profile.takeDirectives(at: now) + choice.takeDirectives(at: now)
        if let newOwner { directives.append(newOwner) }
        newOwner = nil
        let isDue = removeAgainAt.map { $0 <= now.uptime } ?? false
        guard !unremoved.isEmpty, isDue || !directives.isEmpty else { return directives }
        defer { (unremoved, removeAgainAt) = ([], nil) }
        // In one operation: if an older write stayed and a newer one did not, the next process would send the older one.
        var ids = unremoved
        directives.removeAll { directive in
            guard case .removeWrites(let others) = directive else { return false }
            ids += others
            return true
        }
        return directives + [.removeWrites(ids)]
    }

    /// A write was stored, or could not be stored; returns the results of the calls that waited for it.
    mutating func stored(
        _ write: String, _ error: PresenceError?
    ) -> [(call: CallID, result: Result<Reply, PresenceError>)] {
        choice.stored(write, error) ?? profile.stored(write, error) ?? []
    }

    /// Writes were removed from the storage.
    mutating func removed(_ writes: [String]) {
        profile.removed(writes)
        choice.removed(writes)
    }

    /// Writes could not be removed from the storage. A later process would send them again, so later changes wait
    /// behind them.
    mutating func keepRemoving(_ writes: [String], at uptime: Duration) {
        unremoved += writes
        removeAgainAt = uptime + Self.removalPause
    }

    private static let removalPause = Duration.seconds(5)

    /// Pending profile changes and the last rejection.
    var keptChanges: ProfileChanges.Pending {
        ProfileChanges.Pending(
            waiting: profile.waiting(of: writer).map { ProfileChanges($0.changes) }, refusal: profile.refusal)
    }

    mutating func checkKept() {
        let kept = (waiting: profile.waiting(of: writer)?.changes, refusal: profile.refusal)
        guard kept != shownKept else { return }
        shownKept = kept
        keptStamp += 1
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

extension Outgoing {
    static func status(_ status: WriteLane<PendingStatus>.Sending, at uptime: Duration) -> Outgoing {
        Outgoing(.status(status.body.change(at: uptime)), .status(status.ticket))
    }
}
