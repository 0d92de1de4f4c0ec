import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Changes of the user's own profile, while the storage is slow or fails.
@Suite struct SlowStorageTests {
    private var bench = Bench()
    private static let stored = Profile(version: 3, displayName: "Ana")

    private func isSaved(_ call: CallID) -> Bool {
        if case .success(.profile(.saved)) = bench.answer(to: call) { true } else { false }
    }

    private var stores: [ProfileChanges?] { bench.writes.map(\.profileChanges?.changes) }

    /// The storage's operations of the last turn. The storage is slow from now on.
    private func operations() -> [Directive] {
        bench.directives.filter { directive in
            switch directive {
            case .store, .removeWrites: true
            default: false
            }
        }
    }

    /// A change that is in the storage, and that the server will accept later. The storage is slow from now on.
    private mutating func postponed(_ changes: ProfileChanges, for milliseconds: Milliseconds = 60_000) {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(changes, .queue))
        bench.comeBack()
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: milliseconds))
        bench.storageAnswers = false
    }

    @Test mutating func `a member that a later call has saved stays, whatever was queued afterwards`() {
        postponed(ProfileChanges(displayName: .set("Old")))
        let newer = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .fail))
        let request = bench.lastID
        _ = bench.call(.updateProfile(ProfileChanges(locale: .set("de")), .queue))
        bench.do(operations())
        bench.receive(.profileUpdated(id: request, Self.stored))
        expect(bench.answer(to: newer) == nil, "a process that started now would send the old name")
        bench.do(operations())
        expect(isSaved(newer) && stores == [ProfileChanges(locale: .set("de"))])
    }

    @Test mutating func `a change is sent only if its newest form is stored`() {
        postponed(ProfileChanges(displayName: .set("Old"), locale: .set("de")), for: 1_000)
        _ = bench.call(.updateProfile(ProfileChanges(locale: .set("fr")), .fail))
        let request = bench.lastID
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .queue))
        var pending = operations()
        bench.receive(.profileUpdated(id: request, Self.stored))
        pending += operations()
        bench.pass(.seconds(1))
        expect(bench.bodies, equals: [])
        bench.do(pending)
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("New")))])
    }

    @Test mutating func `a call ends once all older writes are removed, not one of them`() {
        postponed(ProfileChanges(displayName: .set("Old"), locale: .set("de")))
        let newer = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .fail))
        let request = bench.lastID
        _ = bench.call(.updateProfile(ProfileChanges(timezone: .set("Asia/Tokyo")), .queue))
        let first = operations()
        bench.receive(.profileUpdated(id: request, Self.stored))
        let second = operations()
        bench.storageFault = nil
        bench.do(first)
        expect(bench.answer(to: newer) == nil && stores.contains { $0?.displayName == .set("Old") })
        bench.do(second)
        expect(isSaved(newer))
        expect(stores, equals: [ProfileChanges(timezone: .set("Asia/Tokyo"), locale: .set("de"))])
    }

    @Test mutating func `a change in flight stays in the storage, whatever becomes of later ones`() {
        postponed(ProfileChanges(displayName: .set("A")), for: 1_000)
        let cancelled = bench.call(.updateProfile(ProfileChanges(locale: .set("fr")), .fail))
        let request = bench.lastID
        bench.handle(.cancel(cancelled))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("B")), .queue))
        let later = operations()
        bench.pass(.seconds(1))
        bench.receive(.profileUpdated(id: request, Self.stored))
        bench.do(later)
        expect(!bench.writes.isEmpty)
        bench.storageAnswers = true
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.isEmpty)
    }

    @Test mutating func `a write that failed does not hold back what was stored again`() {
        bench.connect()
        bench.end(.lost(""))
        bench.storageAnswers = false
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Old"), locale: .set("de")), .queue))
        let first = operations()
        bench.comeBack()
        let newer = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .fail))
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        let second = operations()
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.do(first)
        expect(isSaved(newer))
        bench.storageFault = nil
        bench.do(second)
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(locale: .set("de")))])
        bench.storageAnswers = true
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.isEmpty && !bench.engine.me.profile.isBusy)
    }

    @Test mutating func `a change whose write fails may still be made, if a later write contains it`() {
        bench.connect()
        bench.end(.lost(""))
        bench.storageAnswers = false
        let first = bench.call(.updateProfile(ProfileChanges(displayName: .set("A")), .queue))
        let firstWrite = operations()
        let second = bench.call(.updateProfile(ProfileChanges(locale: .set("de")), .queue))
        let secondWrite = operations()
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.do(firstWrite)
        expect(bench.error(of: first)?.outcomeUnknown, equals: true)
        bench.storageFault = nil
        bench.do(secondWrite)
        expect(bench.isQueued(second))
        bench.comeBack()
        expect(bench.bodies.contains(.updateProfile(ProfileChanges(displayName: .set("A"), locale: .set("de")))))
    }

    @Test mutating func `a pause that ends behind a request in flight does not keep the client busy`() {
        postponed(ProfileChanges(displayName: .set("A")), for: 1_000)
        _ = bench.call(.updateProfile(ProfileChanges(locale: .set("de")), .fail))
        bench.now.uptime += .seconds(2)
        bench.handle(.tick)
        expect(bench.engine.nextDeadline.map { $0 > bench.now.uptime } ?? true)
    }

    @Test mutating func `a saved change that waits for the storage is not reported as not made at a sign-out`() {
        postponed(ProfileChanges(displayName: .set("Old")))
        let newer = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .fail))
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.answer(to: newer) == nil)
        bench.signOut()
        expect(bench.error(of: newer)?.code == .signedOut && bench.error(of: newer)?.outcomeUnknown == true)
    }

    @Test mutating func `another user does not see the former one's pending changes`() {
        let write = QueuedWrite(ProfileChanges(displayName: .set("A")), id: "1", owner: "ana", at: bench.now.wall)
        (bench.writes, bench.owner) = ([write], "ana")
        bench.handle(.recalled("ana", [write]))
        expect(bench.engine.me.keptChanges.waiting != nil)
        bench.dial(token: "h.\(Data(#"{"sub":"bob"}"#.utf8).base64EncodedString()).s")
        expect(bench.engine.me.keptChanges.waiting, equals: nil)
    }

    @Test func `a status of an earlier process is sent only to the user of the newest token`() {
        let body = PendingStatus(StatusChange(status: .busy), call: CallID(number: 1), at: .zero)
        let now = Moment(uptime: .zero, wall: Date(timeIntervalSince1970: 0))
        let write = QueuedWrite(
            id: "1", owner: "ana", lane: "status", kind: "status", body: body.encoded(at: now), queuedAt: now.wall)
        var lane = WriteLane<PendingStatus>()
        lane.recall([write], at: now)
        lane.identify(as: "ana")
        lane.identify(as: "bob")
        expect(lane.take(at: .zero) == nil)
        lane.identify(as: "ana")
        expect(lane.take(at: .zero) != nil)
    }

    @Test mutating func `a call that waits for one in flight precedes changes that are queued later`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(ProfileChanges(locale: .set("de")), .queue))
        bench.comeBack()
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("B")), .fail))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("C")), .queue))
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("B")))])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("C")))])
    }

    @Test mutating func `a call that waits for the first connection precedes changes that are queued later`() {
        let write = QueuedWrite(ProfileChanges(locale: .set("de")), id: "1", owner: "ana", at: bench.now.wall)
        (bench.writes, bench.owner) = ([write], "ana")
        bench.handle(.recalled("ana", [write]))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Old")), .fail))
        let newer = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .queue))
        expect(bench.isQueued(newer))
        bench.dial()
        bench.welcome()
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("Old")))])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("New"), locale: .set("de")))])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.isEmpty && bench.sent.isEmpty)
    }

    @Test mutating func `a pause that ends behind a call that waits does not keep the client busy`() {
        postponed(ProfileChanges(displayName: .set("A")), for: 1_000)
        bench.storageAnswers = true
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("X")), .fail))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 5_000))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Y")), .fail))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("B")), .queue))
        bench.now.uptime += .seconds(2)
        bench.handle(.tick)
        expect(bench.bodies, equals: [], "the older calls come first")
        expect(bench.engine.nextDeadline.map { $0 > bench.now.uptime } ?? true)
    }

    @Test mutating func `what is left of a change whose own write failed is stored again`() {
        bench.connect()
        bench.end(.lost(""))
        bench.storageAnswers = false
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("A"), locale: .set("de")), .queue))
        let first = operations()
        bench.comeBack()
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("X")), .fail))
        let request = bench.lastID
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("B")), .queue))
        let second = operations()
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.do(first)
        bench.storageFault = nil
        bench.receive(.profileUpdated(id: request, Self.stored))
        bench.do(second + operations())
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("B"), locale: .set("de")))])
    }
}
