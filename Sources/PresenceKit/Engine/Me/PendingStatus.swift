import Foundation
import PresenceProtocol

/// A chosen status that the server has not acknowledged yet.
///
/// Several choices are merged: the newest status, text and clearing time. The result is what the server would have
/// after receiving them one by one in order.
struct PendingStatus: Sendable {
    private(set) var status: Wire.ChosenStatus
    /// The uptime at which status and text are cleared.
    private var clearAt: Duration?
    /// The order of the choice of status and clearing: later choices have larger numbers.
    private var statusNumber: UInt64
    private var text: Wire.Change<String>
    private var textNumber: UInt64
    /// The calls that wait for this choice.
    var calls: [CallID]
    /// Whether a call has returned `queued` for this choice.
    private(set) var isPromised = false
    /// Whether part of this choice was sent on a connection that broke before the reply.
    var wasSent = false
    /// The writes in the storage that contain this choice.
    var writes: [String] = []

    /// The shortest `clearAfter` that the server accepts.
    private static let shortestClearing: Milliseconds = 1_000
    /// The longest `clearAfter`, in seconds.
    private static let longestClearing = ChosenStatus.Rule.clearing.upperBound.timeInterval

    init(_ change: StatusChange, call: CallID, at uptime: Duration) {
        status = change.status
        text = change.text
        clearAt = change.clearAfter.map { uptime + .milliseconds($0) }
        (statusNumber, textNumber) = (call.number, call.number)
        calls = [call]
    }

    /// Restores a choice of an earlier process, which is older than any call of this process.
    init(_ write: String, _ stored: StoredStatus, at now: Moment) {
        status = stored.status.wire
        // Bounded, because the device's clock may have been set in the meantime.
        let rest = stored.clearsAt.map { max(0, min($0.timeIntervalSince(now.wall), Self.longestClearing)) }
        clearAt = rest.map { now.uptime + .seconds($0) }
        text = stored.removesText ? .remove : stored.text.map { .set($0) } ?? .keep
        (statusNumber, textNumber) = (0, 0)
        calls = []
        isPromised = true
        writes = [write]
    }

    /// Merges a later choice of the same earlier process.
    mutating func merge(with later: PendingStatus) {
        (status, clearAt) = (later.status, later.clearAt)
        if later.text != .keep { text = later.text }
        writes += later.writes
    }

    /// The choice as it is stored.
    func stored(at now: Moment) -> StoredStatus {
        StoredStatus(
            status: ChosenStatus(status), text: Change(text).value, removesText: text == .remove,
            clearsAt: clearAt.map { now.wall + ($0 - now.uptime).timeInterval })
    }

    /// Merges another choice: the later one wins for each member.
    mutating func merge(_ other: PendingStatus) {
        mergeLater(other)
        calls += other.calls
        writes += other.writes
        isPromised = isPromised || other.isPromised
        wasSent = wasSent || other.wasSent
    }

    private mutating func mergeLater(_ other: PendingStatus) {
        if other.statusNumber > statusNumber {
            (status, clearAt, statusNumber) = (other.status, other.clearAt, other.statusNumber)
        }
        if other.text != .keep, text == .keep || other.textNumber > textNumber {
            (text, textNumber) = (other.text, other.textNumber)
        }
    }

    /// The server has stored `other`; returns whether anything of this choice remains to be sent.
    mutating func isLeft(after other: PendingStatus) -> Bool {
        if text != .keep, other.text != .keep, textNumber < other.textNumber { text = .keep }
        let isStatusLater = statusNumber > other.statusNumber
        if !isStatusLater, text == .keep { return false }
        mergeLater(other)
        return true
    }

    /// Marks the choice as promised; returns the calls that waited for it.
    mutating func promise() -> [CallID] {
        defer {
            if !calls.isEmpty { isPromised = true }
            calls = []
        }
        return calls
    }

    /// The message content at `uptime`: `clearAfter` is reduced by the time since the choice.
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

/// A choice in the storage.
struct StoredStatus: Codable, Hashable, Sendable {
    var status: ChosenStatus
    /// `nil`: the text is kept or removed.
    var text: String?
    var removesText: Bool
    /// By the device's clock.
    var clearsAt: Date?
}
