import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Changes of one object are made in the order of the calls, even if the server delays some.
@Suite struct OrderTests {
    private var bench = Bench()
    private static let one = ProfileChanges(displayName: .set("1"))
    private static let two = ProfileChanges(displayName: .set("2"))

    init() { bench.connect() }

    private func name(_ number: Int) -> Profile { Profile(version: Int64(number), displayName: "\(number)") }

    @Test(arguments: [ErrorCode.rateLimited, .unavailable]) mutating func `a later profile waits for an earlier one`(
        code: ErrorCode
    ) {
        _ = bench.call(.updateProfile(Self.one, .queue))
        bench.receive(.refusal(bench.lastID, code, retryAfter: 100))
        let second = bench.call(.updateProfile(Self.two, .queue))
        expect(bench.isQueued(second) && bench.sent.isEmpty)
        bench.pass(.milliseconds(100))
        expect(bench.bodies, equals: [.updateProfile(Self.two)])
        bench.receive(.profileUpdated(id: bench.lastID, name(2)))
        bench.pass(.seconds(5))
        expect(bench.sent.isEmpty && bench.writes.isEmpty)
    }

    @Test mutating func `a status that is sent again does not overtake a newer one in flight`() {
        _ = bench.call(.setStatus(StatusChange(status: .busy, text: .set("older"))))
        let older = bench.lastID
        _ = bench.call(.setStatus(StatusChange(status: .busy, text: .set("newer"))))
        let newer = bench.lastID
        bench.receive(.refusal(older, .rateLimited, retryAfter: 100))
        bench.pass(.milliseconds(200))
        expect(bench.bodies.isEmpty, "the server may have the newer one already")
        bench.receive(.ok(id: newer))
        expect(bench.bodies.isEmpty)
    }

    @Test mutating func `only one profile change is in flight at a time`() {
        let calls = [bench.call(.updateProfile(Self.one, .fail)), bench.call(.updateProfile(Self.two, .fail))]
        expect(bench.sent.isEmpty)
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 100))
        expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(100))
        expect(bench.bodies, equals: [.updateProfile(Self.one)])
        bench.receive(.profileUpdated(id: bench.lastID, name(1)))
        expect(bench.answer(to: calls[0]) != nil && bench.bodies == [.updateProfile(Self.two)])
        bench.receive(.profileUpdated(id: bench.lastID, name(2)))
        expect(bench.answer(to: calls[1]) != nil)
    }

    @Test mutating func `an unblocking waits for the blocking that the server delayed`() {
        let block = bench.call(.changeVisibility(.block(["bob"])))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 100))
        let unblock = bench.call(.changeVisibility(.unblock(["bob"])))
        expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(100))
        expect(bench.bodies, equals: [.block(["bob"])])
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(block) && bench.bodies == [.unblock(["bob"])])
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(unblock))
    }

    @Test mutating func `a change that waits for a missing reply continues without it`() {
        _ = bench.call(.updateProfile(Self.one, .fail))
        let request = bench.lastID
        bench.pass(.seconds(1))
        let second = bench.call(.updateProfile(Self.two, .fail))
        bench.pass(.seconds(14))
        expect(bench.bodies.contains(.updateProfile(Self.two)))
        bench.receive(.profileUpdated(id: bench.lastID, name(2)))
        expect(bench.answer(to: second) != nil)
        bench.receive(.refusal(request, .unavailable, retryAfter: 100))
        bench.pass(.seconds(5))
        expect(!bench.bodies.contains(.updateProfile(Self.one)))
    }

    @Test mutating func `a late rejection does not restore what a later change replaced`() {
        _ = bench.call(.updateProfile(Self.one, .queue))
        let request = bench.lastID
        bench.pass(.seconds(15))
        _ = bench.call(.updateProfile(Self.two, .queue))
        bench.receive(.profileUpdated(id: bench.lastID, name(2)))
        bench.receive(.refusal(request, .unavailable, retryAfter: 100))
        bench.pass(.seconds(5))
        expect(bench.writes.isEmpty && !bench.bodies.contains(.updateProfile(Self.one)))
    }

    @Test mutating func `a change to be queued is queued, though the connection is lost before its turn`() {
        let first = bench.call(.updateProfile(Self.one, .queue))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 5_000))
        expect(bench.isQueued(first))
        bench.end(.lost(""))
        bench.comeBack()
        expect(bench.bodies, equals: [.updateProfile(Self.one)])
        bench.receive(.profileUpdated(id: bench.lastID, name(1)))
        _ = bench.call(.updateProfile(Self.one, .fail))
        let waiting = bench.call(.updateProfile(Self.two, .queue))
        bench.end(.lost(""))
        expect(bench.isQueued(waiting))
    }

    // MARK: Statuses

    @Test mutating func `of rate-limited statuses the newest is sent`() {
        let calls = [
            bench.call(.setStatus(StatusChange(status: .busy, text: .set("a")))),
            bench.call(.setStatus(StatusChange(status: .invisible))),
        ]
        for id in [bench.lastID - 1, bench.lastID] { bench.receive(.refusal(id, .rateLimited, retryAfter: 500)) }
        bench.pass(.milliseconds(500))
        expect(bench.bodies, equals: [.status(StatusChange(status: .invisible, text: .set("a")))])
        bench.receive(.ok(id: bench.lastID))
        expect(calls.allSatisfy(bench.isDone))
    }

    @Test mutating func `a delayed status is not sent over a newer one`() {
        let first = bench.call(.setStatus(StatusChange(status: .busy)))
        _ = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.receive(.refusal(bench.lastID - 1, .rateLimited, retryAfter: 500))
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(first))
        bench.pass(.seconds(5))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a text that only the older status set is sent with the newer one`() {
        let first = bench.call(.setStatus(StatusChange(status: .busy, text: .set("a"))))
        _ = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.receive(.refusal(bench.lastID - 1, .rateLimited, retryAfter: 500), .ok(id: bench.lastID))
        bench.pass(.milliseconds(500))
        expect(bench.bodies, equals: [.status(StatusChange(status: .invisible, text: .set("a")))])
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(first))
    }

    @Test(arguments: [true, false]) mutating func `a status does not replace a newer one that was answered before it`(
        breaks: Bool
    ) {
        let first = bench.call(.setStatus(StatusChange(status: .busy)))
        let second = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(second))
        if breaks { bench.end(.lost("")) } else { bench.receive(.refusal(bench.lastID - 1, .rateLimited)) }
        expect(bench.isDone(first))
        if breaks { bench.comeBack() } else { bench.pass(.seconds(5)) }
        expect(!bench.bodies.contains(.status(StatusChange(status: .busy))) && bench.writes.isEmpty)
    }

    @Test mutating func `a text that only the older status set is sent again, with the newer status`() {
        let first = bench.call(.setStatus(StatusChange(status: .busy, text: .set("a"))))
        _ = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.receive(.ok(id: bench.lastID))
        bench.end(.lost(""))
        expect(bench.isQueued(first))
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else { return expect(Bool(false), "no connect") }
        expect(connect.status, equals: StatusChange(status: .invisible, text: .set("a")))
    }

    @Test mutating func `a promised status survives a closing`() {
        bench.end(.lost(""))
        let call = bench.call(.setStatus(StatusChange(status: .invisible)))
        expect(bench.isQueued(call))
        bench.disconnect()
        bench.dial()
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect: \(bench.bodies)")
            return
        }
        expect(connect.status?.status, equals: .invisible)
    }
}
