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
    private(set) var keptStamp: UInt64 = 1
    /// What the server holds.
    private var status: OwnStatus?
    private var statusStaleSince: Date?
    /// What the app chose and the server has not acknowledged.
    private var pending: PendingStatus?
    /// After a rate limit, the uptime at which to send it.
    private var pendingUntil: Duration?
    private var visibility = OwnAudiences()
    var profile = ProfileQueue()
    private var typing: OwnTyping
    private var storing: [Directive] = []
    private let newID: @Sendable () -> String

    init(typingInterval: Duration, newID: @escaping @Sendable () -> String = { UUID().uuidString }) {
        typing = OwnTyping(interval: typingInterval)
        self.newID = newID
    }

    /// What the storage has to do.
    mutating func takeStoring() -> [Directive] {
        defer { storing = [] }
        return storing
    }

    /// What an earlier process left: whose it is, and the writes that were not answered.
    mutating func recall(_ owner: UserID?, _ writes: [QueuedWrite]) {
        if id == nil, let owner {
            id = owner
            isRecalled = true
            stamp += 1
        }
        let entries = writes.compactMap(\.profileChanges)
        guard !entries.isEmpty else { return }
        profile.recall(entries)
        keptStamp += 1
    }

    // MARK: The connection

    /// What the server was not told with `connect`, which named `activity`, and what it has forgotten.
    mutating func begin(as user: UserID, toldOf activity: Wire.Activity, at uptime: Duration) -> [Outgoing] {
        isRecalled = false
        if id != user {
            id = user
            stamp += 1
            storing.append(.storeOwner(user.string))
        }
        pendingUntil = nil
        var messages: [Outgoing] = []
        if let pending = takePending() { messages.append(pending.message(at: uptime)) }
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

    /// Everything goes; what was chosen and not sent has to be answered.
    mutating func forget() -> PendingStatus? {
        id = nil
        isRecalled = false
        status = nil
        visibility.forget()
        stamp += 1
        _ = typing.stopAll()
        profile = ProfileQueue()
        // What was not stored yet has no place among the next user's.
        storing = []
        keptStamp += 1
        return takePending()
    }

    mutating func tick(at uptime: Duration) -> [Outgoing] {
        var messages = typing.takeDue(at: uptime).map(Self.repetition) + sendKept(at: uptime)
        if let pendingUntil, pendingUntil <= uptime, let pending = takePending() {
            messages.append(pending.message(at: uptime))
        }
        return messages
    }

    /// The uptime at which there is something to send.
    var nextDeadline: Duration? {
        [typing.nextDue, profile.retryAt, pendingUntil].compactMap(\.self).min()
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

    func shownStatus(on link: Link) -> MyStatus? {
        status.map { status in
            MyStatus(
                status: ChosenStatus(status.status), text: status.text,
                clearsAt: status.clearAt.map(Date.init(timestamp:)),
                freshness: link.freshness(isConfirmed: true, staleSince: statusStaleSince))
        }
    }

    /// Keeps a choice for the next connection, on top of what was chosen before.
    mutating func choose(_ newer: PendingStatus) {
        if pending == nil { pending = newer } else { pending!.append(newer) }
    }

    /// Takes back choices that were sent and not answered, oldest first: what was chosen since stays on top.
    mutating func chooseAgain(_ sent: [PendingStatus]) {
        let newest = takePending()
        for status in sent { choose(status) }
        if let newest { choose(newest) }
    }

    mutating func takePending() -> PendingStatus? {
        defer {
            pending = nil
            pendingUntil = nil
        }
        return pending
    }

    /// Whether a choice waits for the end of a rate limit.
    var isPostponed: Bool { pendingUntil != nil }

    /// The server wants this choice later.
    mutating func postpone(_ status: PendingStatus, until uptime: Duration) {
        chooseAgain([status])
        pendingUntil = uptime
    }

    /// The calls that wait for a choice, which do not wait any longer: it goes out with the next connection.
    mutating func release() -> [CallID] {
        defer { pending?.calls = [] }
        return pending?.calls ?? []
    }

    /// Whether a call waits for what is not sent yet.
    func isPending(for call: CallID) -> Bool {
        pending?.calls.contains(call) == true
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

    // MARK: The profile

    /// Profile changes that wait, and what was refused of them.
    var keptChanges: PendingProfileChanges {
        PendingProfileChanges(waiting: profile.waiting.map(ProfileChanges.init), refusal: profile.refusal)
    }

    /// Keeps a change for the next connection, or `until` then; `call` waits for its being stored. Whether there is
    /// anything to store.
    mutating func keep(
        _ changes: Wire.ProfileChanges, for call: CallID?, at date: Date, until uptime: Duration? = nil
    ) -> Bool {
        let id = newID()
        guard let (unsent, replaced) = profile.append(changes, id: id) else { return false }
        if let uptime { profile.postpone(until: uptime) }
        store(unsent, id, replaced, call, at: date)
        return true
    }

    private mutating func store(
        _ changes: Wire.ProfileChanges?, _ id: String, _ replaced: [String], _ call: CallID?, at date: Date
    ) {
        if let changes { storing.append(.store(QueuedWrite(changes, id: id, at: date), call)) }
        if !replaced.isEmpty { storing.append(.removeWrites(replaced)) }
        keptStamp += 1
    }

    /// A change could not be stored.
    mutating func withdraw(_ write: String) {
        profile.withdraw(write)
        keptStamp += 1
    }

    /// Writes are out of the storage.
    mutating func removed(_ writes: [String]) {
        profile.removed(writes)
        keptStamp += 1
    }

    /// What is kept, if there is anything to send now and nothing is on its way.
    mutating func sendKept(at uptime: Duration, if isConnected: Bool = true) -> [Outgoing] {
        guard isConnected else { return [] }
        return profile.take(at: uptime).map { [Outgoing(.updateProfile($0), .keptProfile)] } ?? []
    }

    /// What was kept and sent is stored by the server.
    mutating func acknowledgeKept(at uptime: Duration) -> [Outgoing] {
        storing.append(.removeWrites(profile.acknowledge()))
        keptStamp += 1
        return sendKept(at: uptime)
    }

    /// What was kept and sent is refused.
    mutating func refuseKept(_ error: PresenceError, at uptime: Duration) -> [Outgoing] {
        keptStamp += 1
        if error.isPassing {
            profile.postpone(until: uptime + error.delay)
            return []
        }
        let refused = profile.refuse(error)
        if !refused.isEmpty { storing.append(.removeWrites(refused)) }
        return sendKept(at: uptime)
    }

    /// A later change of these members is stored by the server.
    mutating func supersede(_ changes: Wire.ProfileChanges, at date: Date) {
        let id = newID()
        guard let (unsent, replaced) = profile.supersede(changes, id: id) else { return }
        store(unsent, id, replaced, nil, at: date)
    }
}
