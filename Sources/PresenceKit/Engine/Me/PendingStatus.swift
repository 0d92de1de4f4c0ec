import Foundation
import PresenceProtocol

/// The status that the app chose and the server has not acknowledged yet.
///
/// Several choices become one: the newest status, the newest text that was given, the newest time of clearing. That is
/// what the server would hold had it heard them one by one, in the order in which they were chosen.
struct PendingStatus: Sendable {
    private(set) var status: Wire.ChosenStatus
    /// The uptime at which status and text are to be cleared.
    private var clearAt: Duration?
    /// When status and clearing were chosen: a later choice has a larger number.
    private var statusNumber: UInt64
    private var text: Wire.Change<String>
    private var textNumber: UInt64
    /// The calls that wait for it.
    var calls: [CallID]
    /// Whether some call was told that it will be sent.
    private(set) var isPromised = false
    /// Whether some of it was sent on a connection that broke before the answer.
    var wasSent = false
    /// The writes in the storage that hold it.
    var writes: [String] = []

    /// The shortest `clearAfter` that the server takes.
    private static let shortestClearing: Milliseconds = 1_000
    /// The longest one, in seconds.
    private static let longestClearing = StatusRule.clearing.upperBound.timeInterval

    init(_ change: StatusChange, call: CallID, at uptime: Duration) {
        status = change.status
        text = change.text
        clearAt = change.clearAfter.map { uptime + .milliseconds($0) }
        (statusNumber, textNumber) = (call.number, call.number)
        calls = [call]
    }

    /// What an earlier process promised, older than any call of this one.
    init(_ write: String, _ stored: StoredStatus, at now: Moment) {
        status = stored.status.wire
        // The device's clock may have been set meanwhile.
        let rest = stored.clearsAt.map { max(0, min($0.timeIntervalSince(now.wall), Self.longestClearing)) }
        clearAt = rest.map { now.uptime + .seconds($0) }
        text = stored.removesText ? .remove : stored.text.map { .set($0) } ?? .keep
        (statusNumber, textNumber) = (0, 0)
        calls = []
        isPromised = true
        writes = [write]
    }

    /// Takes up what the same earlier process promised after this.
    mutating func follow(with later: PendingStatus) {
        (status, clearAt) = (later.status, later.clearAt)
        if later.text != .keep { text = later.text }
        writes += later.writes
    }

    /// As a storage keeps it.
    func stored(at now: Moment) -> StoredStatus {
        StoredStatus(
            status: ChosenStatus(status), text: Change(text).value, removesText: text == .remove,
            clearsAt: clearAt.map { now.wall + ($0 - now.uptime).timeInterval })
    }

    /// Takes up another choice: of each member the later one counts.
    mutating func merge(_ other: PendingStatus) {
        takeLater(other)
        calls += other.calls
        writes += other.writes
        isPromised = isPromised || other.isPromised
        wasSent = wasSent || other.wasSent
    }

    private mutating func takeLater(_ other: PendingStatus) {
        if other.statusNumber > statusNumber {
            (status, clearAt, statusNumber) = (other.status, other.clearAt, other.statusNumber)
        }
        if other.text != .keep, text == .keep || other.textNumber > textNumber {
            (text, textNumber) = (other.text, other.textNumber)
        }
    }

    /// The server holds `other`; whether anything is left to be sent of this.
    mutating func isLeft(after other: PendingStatus) -> Bool {
        if text != .keep, other.text != .keep, textNumber < other.textNumber { text = .keep }
        let isStatusLater = statusNumber > other.statusNumber
        if !isStatusLater, text == .keep { return false }
        takeLater(other)
        return true
    }

    /// The calls that wait, which are told that it will be sent.
    mutating func promise() -> [CallID] {
        defer {
            if !calls.isEmpty { isPromised = true }
            calls = []
        }
        return calls
    }

    /// What to send at `uptime`: the time that has passed since the choice is not given again.
    func change(at uptime: Duration) -> StatusChange {
        guard let clearAt else { return StatusChange(status: status, text: text) }
        guard clearAt > uptime else { return StatusChange(status: .auto, text: .remove) }
        let rest = max((clearAt - uptime).milliseconds, Self.shortestClearing)
        return StatusChange(status: status, text: text, clearAfter: rest)
    }

    func message(at uptime: Duration) -> Outgoing {
        Outgoing(.status(change(at: uptime)), .status(self))
    }
}

/// A choice as it is in the storage.
struct StoredStatus: Codable, Hashable, Sendable {
    var status: ChosenStatus
    /// `nil`: left as it is, or removed.
    var text: String?
    var removesText: Bool
    /// By the device's clock.
    var clearsAt: Date?
}
