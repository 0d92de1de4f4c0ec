import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

@Suite struct PendingStatusTests {
    private static func pending(
        _ change: StatusChange, call: UInt64 = 1, at uptime: Duration = .zero
    ) -> WriteLane<PendingStatus>.Part {
        let call = CallID(number: call)
        return .init(body: PendingStatus(change, call: call, at: uptime), calls: [call])
    }

    @Test func `the newest status and the newest text win`() {
        var pending = Self.pending(StatusChange(status: .busy, text: .set("lunch")))
        pending.merge(Self.pending(StatusChange(status: .auto), call: 2))
        expect(pending.change(at: .zero), equals: StatusChange(status: .auto, text: .set("lunch")))
        pending.merge(Self.pending(StatusChange(status: .auto, text: .remove), call: 3))
        expect(pending.change(at: .zero), equals: StatusChange(status: .auto, text: .remove))
        expect(pending.calls.map(\.number), equals: [1, 2, 3])
    }

    @Test func `a later choice without a time cancels the clearing`() {
        var pending = Self.pending(StatusChange(status: .busy, clearAfter: 5_000))
        pending.merge(Self.pending(StatusChange(status: .invisible), call: 2))
        expect(pending.change(at: .zero).clearAfter, equals: nil)
    }

    @Test func `time spent waiting reduces the clearing time`() {
        let pending = Self.pending(StatusChange(status: .busy, text: .set("x"), clearAfter: 60_000), at: .seconds(10))
        expect(pending.change(at: .seconds(10)).clearAfter, equals: 60_000)
        expect(pending.change(at: .seconds(30)).clearAfter, equals: 40_000)
        expect(pending.change(at: .seconds(69.5)).clearAfter, equals: 1_000)
        expect(pending.change(at: .seconds(70)), equals: StatusChange(status: .auto, text: .remove))
    }
}

extension WriteLane.Part where Body == PendingStatus {
    fileprivate func change(at uptime: Duration) -> StatusChange { body.change(at: uptime) }
}

@Suite struct ProfileQueueTests {
    private var queue = ProfileQueue()
    private var lastID = 0

    private mutating func append(_ changes: ProfileChanges) {
        lastID += 1
        _ = queue.append(changes, id: "w\(lastID)", owner: "ana")
        _ = queue.stored("w\(lastID)")
    }

    private mutating func acknowledge() {
        queue.removed(queue.acknowledge())
    }

    @Test mutating func `the newest value of each member is sent in one request`() {
        append(ProfileChanges(displayName: .set("A"), locale: .set("de")))
        append(ProfileChanges(displayName: .set("B"), photoURL: .remove))
        let merged = ProfileChanges(displayName: .set("B"), photoURL: .remove, locale: .set("de"))
        expect(queue.waiting, equals: merged)
        expect(queue.take(at: .zero), equals: merged)
        expect(queue.waiting, equals: merged)
        acknowledge()
        expect(queue.waiting, equals: nil)
    }

    @Test func `an empty change has no effect`() {
        var bench = Bench()
        bench.disconnect()
        let call = bench.call(.updateProfile(ProfileChanges(), .queue))
        expect(bench.isQueued(call) && bench.writes.isEmpty)
        expect(bench.engine.me.keptChanges.waiting, equals: nil)
    }

    @Test mutating func `changes wait for the reply to the one in flight`() {
        append(ProfileChanges(displayName: .set("A")))
        _ = queue.take(at: .zero)
        append(ProfileChanges(displayName: .set("B")))
        expect(queue.take(at: .zero), equals: nil)
        acknowledge()
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("B")))
    }

    @Test mutating func `after a lost connection all unanswered changes are sent again, the newer on top`() {
        append(ProfileChanges(displayName: .set("A"), locale: .set("de")))
        _ = queue.take(at: .zero)
        append(ProfileChanges(displayName: .set("B")))
        queue.requeue()
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("B"), locale: .set("de")))
    }

    @Test mutating func `a rejected member is dropped and the others are sent again`() {
        append(ProfileChanges(displayName: .set("A"), timezone: .set("Mars/Olympus")))
        _ = queue.take(at: .zero)
        let error = PresenceError(.validationFailed, "", field: "timezone")
        _ = queue.refuse(error)
        expect(queue.refusal, equals: error)
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("A")))
    }

    @Test mutating func `after a rejection without a known member, the whole change is dropped`() {
        for field in [nil, "nickname", "locale"] {
            append(ProfileChanges(displayName: .set("A")))
            _ = queue.take(at: .zero)
            _ = queue.refuse(PresenceError(.forbidden, "", field: field))
            expect(queue.waiting, equals: nil)
        }
    }

    @Test mutating func `a newer value of the rejected member is still sent`() {
        append(ProfileChanges(displayName: .set("")))
        _ = queue.take(at: .zero)
        append(ProfileChanges(displayName: .set("B")))
        _ = queue.refuse(PresenceError(.validationFailed, "", field: "displayName"))
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("B")))
    }

    @Test mutating func `after a temporary error the change is sent again later`() {
        append(ProfileChanges(displayName: .set("A")))
        _ = queue.take(at: .zero)
        queue.postpone(until: .seconds(2))
        expect(queue.take(at: .seconds(1)), equals: nil)
        expect(queue.take(at: .seconds(2)), equals: ProfileChanges(displayName: .set("A")))
        expect(queue.retryAt, equals: nil)
    }

    @Test mutating func `a value that was stored meanwhile does not drop a newer one`() {
        append(ProfileChanges(displayName: .set("A")))
        queue.supersede(ProfileChanges(displayName: .set("B")), id: "s", before: 2)
        append(ProfileChanges(displayName: .set("C")))
        queue.supersede(ProfileChanges(displayName: .set("B")), id: "t", before: 2)
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("C")))
    }

    @Test mutating func `a value that was stored meanwhile is not overwritten by an older one`() {
        append(ProfileChanges(displayName: .set("A"), locale: .set("de")))
        queue.supersede(ProfileChanges(displayName: .set("B")), id: "s")
        expect(queue.waiting, equals: ProfileChanges(locale: .set("de")))
        queue.supersede(ProfileChanges(locale: .remove), id: "s")
        expect(queue.waiting, equals: nil)
    }

    @Test mutating func `unsent changes are one write, which replaces the earlier ones once it is stored`() {
        append(ProfileChanges(displayName: .set("A")))
        let unsent = queue.append(ProfileChanges(locale: .set("de")), id: "2", owner: "ana")
        expect(unsent, equals: ProfileChanges(displayName: .set("A"), locale: .set("de")))
        expect(queue.stored("w1"), equals: [])
        expect(queue.stored("2"), equals: ["w1"])
        _ = queue.take(at: .zero)
        _ = queue.append(ProfileChanges(displayName: .set("B")), id: "3", owner: "ana")
        expect(queue.stored("3"), equals: [], "what is sent stays")
        expect(queue.acknowledge(), equals: ["2"])
        expect(
            queue.waiting, equals: ProfileChanges(displayName: .set("B"), locale: .set("de")), "not out of the storage")
        queue.removed(["2"])
        expect(queue.waiting, equals: ProfileChanges(displayName: .set("B")))
    }

    @Test mutating func `a write made before others were recalled only replaces what it contains`() {
        append(ProfileChanges(displayName: .set("A")))
        _ = queue.take(at: .zero)
        _ = queue.append(ProfileChanges(locale: .set("de")), id: "2", owner: "ana")
        queue.requeue()
        expect(queue.stored("2"), equals: [])
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("A"), locale: .set("de")))
        expect(queue.acknowledge(), equals: ["w1", "2"])
    }

    @Test mutating func `the changes of an earlier process are older than all others`() {
        append(ProfileChanges(displayName: .set("B")))
        queue.recall([
            (changes: ProfileChanges(displayName: .set("A")), ids: ["x"]),
            (changes: ProfileChanges(locale: .set("de")), ids: ["y"]),
        ])
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("B"), locale: .set("de")))
        expect(queue.acknowledge(), equals: ["x", "y", "w1"])
    }

    @Test mutating func `a change is not sent before it is stored, nor are newer ones`() {
        append(ProfileChanges(displayName: .set("A")))
        _ = queue.append(ProfileChanges(displayName: .set("B")), id: "2", owner: "ana")
        _ = queue.append(ProfileChanges(locale: .set("de")), id: "3", owner: "ana")
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("A")))
        _ = queue.acknowledge()
        expect(queue.take(at: .zero), equals: nil)
        _ = queue.stored("2")
        expect(queue.take(at: .zero), equals: ProfileChanges(displayName: .set("B")))
        _ = queue.acknowledge()
        _ = queue.stored("3")
        expect(queue.take(at: .zero), equals: ProfileChanges(locale: .set("de")))
    }

    @Test mutating func `a write that could not be stored is not sent`() {
        _ = queue.append(ProfileChanges(displayName: .set("B")), id: "w1", owner: "ana")
        expect(!queue.withdraw("w1"))
        expect(queue.take(at: .zero), equals: nil)
    }
}

@Suite struct OwnTypingTests {
    private var typing = OwnTyping(interval: .seconds(3))

    @Test mutating func `it is renewed at every interval until it is stopped`() {
        typing.start("c1", at: .zero)
        expect(typing.nextDue, equals: .seconds(3))
        expect(typing.takeDue(at: .seconds(2)), equals: [])
        expect(typing.takeDue(at: .seconds(3)), equals: ["c1"])
        expect(typing.nextDue, equals: .seconds(6))
        expect(typing.stop("c1"))
        expect(!typing.stop("c1"))
        expect(typing.nextDue, equals: nil)
    }

    @Test mutating func `missed renewals are not made up for`() {
        typing.start("c1", at: .zero)
        expect(typing.takeDue(at: .seconds(60)), equals: ["c1"])
        expect(typing.nextDue, equals: .seconds(63))
    }

    @Test mutating func `a new connection gets it at once`() {
        typing.start("c1", at: .zero)
        typing.start("c2", at: .seconds(1))
        expect(typing.takeAll(at: .seconds(2)), equals: ["c1", "c2"])
        expect(typing.nextDue, equals: .seconds(5))
        expect(typing.stopAll(), equals: ["c1", "c2"])
    }
}

/// A lane of profile changes, by their content, and the writes that it removes from the storage.
private struct ProfileQueue {
    private var lane = WriteLane<KeptProfile>()
    private var ticket: Int?
    private var lastNumber: UInt64 = 0
    private let now = Moment(uptime: .zero, wall: Date(timeIntervalSince1970: 0))

    init() { lane.identify(as: "ana") }

    var waiting: ProfileChanges? { lane.waiting(of: "ana")?.changes }
    var refusal: PresenceError? { lane.refusal }
    var retryAt: Duration? { lane.retryAt }

    mutating func append(_ changes: ProfileChanges, id: String, owner: UserID) -> ProfileChanges? {
        lastNumber += 1
        let call = CallID(number: lastNumber)
        lane.append(KeptProfile(changes: changes, number: lastNumber), for: call, as: id, owner: owner)
        for case .store(let write) in lane.takeDirectives(at: now) { return write.profileChanges?.changes }
        return nil
    }

    mutating func recall(_ parts: [(changes: ProfileChanges, ids: [String])]) {
        lane.recall(parts.map { QueuedWrite($0.changes, id: $0.ids[0], owner: "ana", at: now.wall) }, at: now)
        lane.adopt("ana")
    }

    mutating func stored(_ id: String) -> [String] {
        _ = lane.stored(id, nil)
        return takeRemoved()
    }

    /// Returns whether the change may still be made.
    mutating func withdraw(_ id: String) -> Bool {
        guard case .failure(let error)? = lane.stored(id, PresenceError(.storageFailed))?.first?.result else {
            return true
        }
        return error.outcomeUnknown
    }

    private mutating func takeRemoved() -> [String] {
        lane.takeDirectives(at: now).flatMap { directive -> [String] in
            if case .removeWrites(let ids) = directive { ids } else { [] }
        }
    }

    mutating func removed(_ ids: [String]) { lane.removed(ids) }

    mutating func take(at uptime: Duration) -> ProfileChanges? {
        guard let sending = lane.take(at: uptime) else { return nil }
        ticket = sending.ticket
        return sending.body.changes
    }

    mutating func acknowledge() -> [String] {
        lane.acknowledge(ticket!)
        return takeRemoved()
    }

    mutating func refuse(_ error: PresenceError) -> [String] {
        _ = lane.refuse(ticket!, error)
        return takeRemoved()
    }

    mutating func postpone(until uptime: Duration) { lane.postpone(ticket, until: uptime) }
    mutating func requeue() { lane.lose() }

    mutating func supersede(_ changes: ProfileChanges, id: String, before number: UInt64 = .max) {
        lane.supersede(KeptProfile(changes: changes, number: number), as: id)
    }
}
