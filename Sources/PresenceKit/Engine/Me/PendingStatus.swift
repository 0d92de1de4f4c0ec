import Foundation
import PresenceProtocol

/// A chosen status. Several choices are merged: the newest status, text and clearing time. The result is what the server
/// would have after receiving them one by one in order.
struct PendingStatus: Sendable, Equatable {
    private(set) var status: Wire.ChosenStatus
    /// The uptime at which status and text are cleared.
    private var clearAt: Duration?
    /// The order of the choice of status and clearing: later choices have larger numbers, an earlier process's have 0.
    private var statusNumber: UInt64 = 0
    private var text: Wire.Change<String>
    private var textNumber: UInt64 = 0

    /// The shortest `clearAfter` that the server accepts.
    private static let shortestClearing: Milliseconds = 1_000
    /// The longest `clearAfter`, in seconds.
    private static let longestClearing = ChosenStatus.Rule.clearing.upperBound.timeInterval

    init(_ change: StatusChange, call: CallID, at uptime: Duration) {
        status = change.status
        text = change.text
        clearAt = change.clearAfter.map { uptime + .milliseconds($0) }
        (statusNumber, textNumber) = (call.number, call.number)
    }

    /// The message content at `uptime`: `clearAfter` is reduced by the time since the choice.
    func change(at uptime: Duration) -> StatusChange {
        guard let clearAt else { return StatusChange(status: status, text: text) }
        guard clearAt > uptime else { return StatusChange(status: .auto, text: .remove) }
        let rest = max((clearAt - uptime).milliseconds, Self.shortestClearing)
        return StatusChange(status: status, text: text, clearAfter: rest)
    }
}

extension PendingStatus: LaneBody {
    static let kind = "status"
    /// It must not wait: it takes effect with the start of a connection.
    static let waitsForStorage = false
    static let queued = Reply.queued

    /// A choice in the storage.
    private struct Stored: Codable {
        var status: ChosenStatus
        /// `nil`: the text is kept or removed.
        var text: String?
        var removesText: Bool
        /// By the device's clock.
        var clearsAt: Date?
    }

    init?(stored data: Data, at now: Moment) {
        guard let stored = try? JSONDecoder().decode(Stored.self, from: data) else { return nil }
        status = stored.status.wire
        // Bounded, because the device's clock may have been set in the meantime.
        let rest = stored.clearsAt.map { max(0, min($0.timeIntervalSince(now.wall), Self.longestClearing)) }
        clearAt = rest.map { now.uptime + .seconds($0) }
        text = stored.removesText ? .remove : stored.text.map { .set($0) } ?? .keep
    }

    func encoded(at now: Moment) -> Data {
        let stored = Stored(
            status: ChosenStatus(status), text: Change(text).value, removesText: text == .remove,
            clearsAt: clearAt.map { now.wall + ($0 - now.uptime).timeInterval })
        // Cannot fail: the members are texts and a time.
        return try! JSONEncoder().encode(stored)
    }

    /// By the order of the choices, because a lost one may come back behind later ones.
    mutating func merge(_ other: PendingStatus) {
        if other.statusNumber >= statusNumber {
            (status, clearAt, statusNumber) = (other.status, other.clearAt, other.statusNumber)
        }
        if other.text != .keep, text == .keep || other.textNumber >= textNumber {
            (text, textNumber) = (other.text, other.textNumber)
        }
    }

    func left(after stored: PendingStatus) -> PendingStatus? {
        var left = self
        if stored.text != .keep, textNumber < stored.textNumber { left.text = .keep }
        if statusNumber > stored.statusNumber { return left }
        guard left.text != .keep else { return nil }
        left.merge(stored)
        return left
    }

    func left(without field: String?) -> PendingStatus? { nil }
}
