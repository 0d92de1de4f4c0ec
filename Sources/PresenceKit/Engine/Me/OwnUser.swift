import Foundation
import PresenceProtocol

/// The own user: their id, status, activity, typing and kept profile changes, all of which outlive a connection.
///
/// Verbs that give back messages say what to send on a connection, if there is one.
struct OwnUser: Sendable {
    /// `nil` until the server has said it.
    private(set) var id: UserID?
    private(set) var activity = Activity.active
    /// Grows with every change of what ``shownStatus(on:)`` shows.
    private(set) var statusStamp: UInt64 = 0
    /// Grows with every change of ``keptChanges``.
    private(set) var keptStamp: UInt64 = 1
    /// What the server holds.
    private var status: OwnStatus?
    private var statusStaleSince: Date?
    /// What the app chose and the server has not acknowledged.
    private var pending: PendingStatus?
    private var profile = ProfileQueue()
    private var typing: OwnTyping

    init(typingInterval: Duration) {
        typing = OwnTyping(interval: typingInterval)
    }

    // MARK: The connection

    /// What the server was not told with `connect`, which named `activity`, and what it has forgotten.
    mutating func begin(as user: UserID, toldOf activity: Activity, at uptime: Duration) -> [Outgoing] {
        id = user
        var messages: [Outgoing] = []
        if let pending = takePending() { messages.append(pending.message(at: uptime)) }
        if self.activity != activity { messages.append(Outgoing(.activity(self.activity))) }
        messages += typing.takeAll(at: uptime).map(Self.repetition)
        return messages + sendKept(at: uptime)
    }

    /// The connection is gone: the status was the truth until `date`.
    mutating func lose(at date: Date) {
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
        status = nil
        _ = typing.stopAll()
        profile = ProfileQueue()
        keptStamp += 1
        return takePending()
    }

    mutating func tick(at uptime: Duration) -> [Outgoing] {
        typing.takeDue(at: uptime).map(Self.repetition) + sendKept(at: uptime)
    }

    /// The uptime at which there is something to send.
    var nextDeadline: Duration? {
        [typing.nextDue, profile.retryAt].compactMap(\.self).min()
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
                status: status.status, text: status.text, clearsAt: status.clearAt.map(Date.init(timestamp:)),
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
        defer { pending = nil }
        return pending
    }

    /// Whether a call waits for what is not sent yet.
    func isPending(for call: CallID) -> Bool {
        pending?.calls.contains(call) == true
    }

    // MARK: Activity

    mutating func setActivity(_ newer: Activity) -> [Outgoing] {
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
        Outgoing(.typing(conversation: conversation, typing: true), .typing(conversation, call: nil))
    }

    // MARK: The profile

    /// Profile changes that wait, and what was refused of them.
    var keptChanges: KeptProfileChanges {
        KeptProfileChanges(waiting: profile.waiting, refusal: profile.refusal)
    }

    mutating func keep(_ changes: ProfileChanges) {
        profile.append(changes)
        keptStamp += 1
    }

    /// What is kept, if there is anything to send now and nothing is on its way.
    mutating func sendKept(at uptime: Duration) -> [Outgoing] {
        profile.take(at: uptime).map { [Outgoing(.updateProfile($0), .keptProfile)] } ?? []
    }

    /// What was kept and sent is stored.
    mutating func acknowledgeKept() {
        profile.acknowledge()
        keptStamp += 1
    }

    /// What was kept and sent is refused.
    mutating func refuseKept(_ error: PresenceError, at uptime: Duration) -> [Outgoing] {
        keptStamp += 1
        if error.isPassing {
            profile.postpone(until: uptime + error.delay)
            return []
        }
        profile.refuse(error)
        return sendKept(at: uptime)
    }

    /// Keeps a change that the server could not store.
    mutating func keep(_ changes: ProfileChanges, until uptime: Duration) {
        profile.append(changes)
        profile.postpone(until: uptime)
        keptStamp += 1
    }

    /// A later change of these members is stored.
    mutating func supersede(_ changes: ProfileChanges) {
        profile.supersede(changes)
        keptStamp += 1
    }
}
