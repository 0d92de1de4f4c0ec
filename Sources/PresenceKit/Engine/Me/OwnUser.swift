import Foundation
import PresenceProtocol

/// The own user: their id, status, audiences, activity, typing and kept profile changes, all of which outlive a
/// connection.
///
/// Verbs that give back messages say what to send on a connection, if there is one. What the storage has to do because
/// of them waits in ``takeStoring()``.
struct OwnUser: Sendable {
    /// `nil` until the server, or the storage, has said it.
    private(set) var id: UserID?
    /// Whether only the storage has said it.
    private(set) var isRecalled = false
    private(set) var activity = Wire.Activity.active
    /// Grows with every change of id, status and audiences.
    private(set) var stamp: UInt64 = 0
    /// Grows with every change of what ``shownStatus(on:)`` shows.
    private(set) var statusStamp: UInt64 = 0 { didSet { stamp += 1 } }
    /// Grows with every change of ``keptChanges``.
    var keptStamp: UInt64 = 1
    /// Whose client this is, as the token or the server says: what is queued is theirs.
    private(set) var account: UserID?
    /// Whom the storage has noted as its owner, in this process.
    private var notedOwner: UserID?
    /// What the server holds.
    private var status: OwnStatus?
    private var statusStaleSince: Date?
    /// What the app chose and the server has not acknowledged.
    var choice = StatusQueue()
    private var visibility = OwnAudiences()
    var profile = ProfileQueue()
    private var typing: OwnTyping
    /// What the storage has to do, and writes that it could not take out.
    var storing: [Directive] = []
    var unremoved: [String] = []
    /// The uptime at which to try that again.
    var removeAgainAt: Duration?
    let newID: @Sendable () -> String

    init(typingInterval: Duration, newID: @escaping @Sendable () -> String = { UUID().uuidString }) {
        typing = OwnTyping(interval: typingInterval)
        self.newID = newID
    }

    /// What an earlier process left: whose it is, and the writes that were not answered.
    mutating func recall(_ owner: UserID?, _ writes: [QueuedWrite], at now: Moment) {
        if id == nil, let owner {
            id = owner
            isRecalled = true
            stamp += 1
        }
        recall(writes.compactMap(\.profileChanges))
        choice.recall(writes, at: now)
    }

    /// The user of the token that the next connection uses.
    mutating func identify(as user: UserID?) {
        guard let user else { return }
        account = user
        _ = choice.adopt(user)
    }

    /// Who made what is queued now: the token's user, or without a token the storage's.
    var writer: UserID? { account ?? id }

    // MARK: The connection

    /// What the server was not told with `connect`, which named `activity` and `told`, and what it has forgotten.
    mutating func begin(
        as user: UserID, toldOf activity: Wire.Activity, _ told: PendingStatus?, at now: Moment
    ) -> [Outgoing] {
        let (uptime, date) = (now.uptime, now.wall)
        isRecalled = false
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

    /// The connection is gone: the status was the truth until `date`.
    mutating func lose(at date: Date) {
        visibility.lose()
        guard status != nil else { return }
        statusStaleSince = date
        statusStamp += 1
    }

    /// What was sent is to be sent again.
    mutating func requeue() {
        profile.requeue()
    }

    /// The storage's owner is not the user: what an earlier process knew of them goes, what this one was asked for stays.
    mutating func forgetRecalled() {
        id = nil
        isRecalled = false
        visibility.forget()
        stamp += 1
    }

    /// Everything goes; what was chosen and not sent has to be answered.
    mutating func forget() -> PendingStatus? {
        id = nil
        isRecalled = false
        (account, notedOwner) = (nil, nil)
        status = nil
        visibility.forget()
        stamp += 1
        _ = typing.stopAll()
        profile = ProfileQueue()
        // What was not stored yet has no place among the next user's.
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

    /// The uptime at which there is something to send.
    var nextDeadline: Duration? {
        [typing.nextDue, profile.retryAt, choice.retryAt, removeAgainAt].compactMap(\.self).min()
    }

    // MARK: Status

    /// What the server holds now.
    mutating func hold(_ status: OwnStatus) {
        self.status = status
        statusStaleSince = nil
        statusStamp += 1
    }

    /// The server knows the newest, or does not any more.
    mutating func freshnessChanged() {
        if status != nil { statusStamp += 1 }
    }

    /// The client closed, or opened again.
    mutating func problemChanged() { statusStamp += 1 }

    /// What the user chose, if it is known.
    func knownStatus(on link: Link) -> MyStatus? {
        status.map { status in
            MyStatus(
                status: ChosenStatus(status.status), text: status.text,
                clearsAt: status.clearAt.map(Date.init(timestamp:)),
                freshness: link.freshness(isConfirmed: true, staleSince: statusStaleSince),
                problem: link.closingProblem)
        }
    }

    /// The same for a loop, which is told that the client is closed also if nothing is known.
    func shownStatus(on link: Link) -> MyStatus? {
        knownStatus(on: link)
            ?? link.closingProblem.map { MyStatus(status: .auto, freshness: .unknown, problem: $0) }
    }

    // MARK: Audiences

    var audiences: MyAudiences? { visibility.held }

    mutating func hold(_ audiences: MyAudiences) {
        if visibility.hold(audiences) { stamp += 1 }
    }

    mutating func askForAudiences() -> [Outgoing] { visibility.ask() }

    // MARK: Activity

    mutating func setActivity(_ newer: Wire.Activity) -> [Outgoing] {
        guard newer != activity else { return [] }
        activity = newer
        return [Outgoing(.activity(newer))]
    }

    /// The app went to the background.
    mutating func background() -> [Outgoing] {
        typing.stopAll().map { Outgoing(.typing(conversation: $0, typing: false)) } + setActivity(.background)
    }

    /// The app is in front again. The caller tells the server, with a request that also shows whether the connection lives.
    mutating func foreground() {
        activity = .active
    }

    // MARK: Typing

    /// Begins typing; whether that has to be said. It is called at every key press: what was said lately is not said
    /// again.
    mutating func startTyping(in conversation: ConversationID, at uptime: Duration) -> Bool {
        guard !typing.contains(conversation) else { return false }
        typing.start(conversation, at: uptime)
        return true
    }

    /// Whether the user was typing there.
    mutating func stopTyping(in conversation: ConversationID) -> Bool {
        typing.stop(conversation)
    }

    private static func repetition(_ conversation: ConversationID) -> Outgoing {
        Outgoing(.typing(conversation: conversation, typing: true), .typing(conversation))
    }
}
