import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// A status chosen without a connection, in the storage, over the end of a process.
@Suite struct StoredStatusTests {
    private var bench = Bench()
    private static let invisible = StatusChange(status: .invisible)
    /// A token that names its user.
    private static let anasToken = "h.\(Data(#"{"sub":"ana"}"#.utf8).base64EncodedString()).s"

    /// The content of the storage after these choices without a connection.
    private mutating func kept(_ choices: StatusChange...) -> [QueuedWrite] {
        bench.connect()
        bench.end(.lost(""))
        for choice in choices {
            let call = bench.call(.setStatus(choice))
            expect(bench.isQueued(call))
        }
        return bench.writes
    }

    /// The next process, which finds these writes.
    private static func next(_ writes: [QueuedWrite], later: TimeInterval = 0) -> Bench {
        var bench = Bench()
        bench.now.wall += later
        (bench.writes, bench.owner) = (writes, "ana")
        bench.handle(.recalled("ana", writes))
        return bench
    }

    /// The status in the first message of a connection.
    private static func begun(_ bench: Bench) -> StatusChange? {
        guard case .connect(let connect) = bench.bodies.first else { return nil }
        return connect.status
    }

    @Test mutating func `a choice is stored before it is promised, and removed once the server has it`() {
        bench.connect()
        bench.end(.lost(""))
        bench.storageAnswers = false
        let call = bench.call(.setStatus(Self.invisible))
        expect(bench.answer(to: call) == nil)
        bench.store()
        expect(bench.isQueued(call) && bench.writes.map(\.kind) == ["status"])
        expect(bench.writes.first?.owner, equals: "ana")
        bench.storageAnswers = true
        bench.comeBack()
        expect(bench.writes.isEmpty)
    }

    @Test mutating func `a later process sends the choice in the first message of its connection`() {
        var next = Self.next(kept(Self.invisible))
        next.dial(token: Self.anasToken)
        expect(Self.begun(next), equals: Self.invisible)
        expect(next.writes.count, equals: 1, "until it is answered")
        next.welcome()
        expect(next.writes.isEmpty && next.sent.isEmpty)
    }

    @Test mutating func `with a token that names no user it is sent once the server has confirmed the user`() {
        var next = Self.next(kept(Self.invisible))
        next.dial()
        expect(Self.begun(next), equals: nil)
        next.welcome(user: "ana")
        expect(next.bodies, equals: [.status(Self.invisible)])
        next.receive(.ok(id: next.lastID))
        expect(next.writes.isEmpty)
    }

    @Test mutating func `it is not sent on another user's connection`() {
        let writes = kept(Self.invisible)
        var next = Self.next(writes)
        next.dial(token: "h.\(Data(#"{"sub":"bob"}"#.utf8).base64EncodedString()).s")
        expect(Self.begun(next), equals: nil)
        next.welcome(user: "bob")
        expect(next.sent.isEmpty && next.writes.isEmpty)
    }

    @Test mutating func `several choices are one write, with the newest status and the newest text`() {
        let writes = kept(StatusChange(status: .busy, text: .set("a")), StatusChange(status: .auto))
        expect(writes.count, equals: 1)
        for found in [writes, writes + writes] {
            var next = Self.next(found)
            next.dial(token: Self.anasToken)
            expect(Self.begun(next), equals: StatusChange(status: .auto, text: .set("a")))
        }
    }

    @Test mutating func `a newer choice replaces that of an earlier process`() {
        var next = Self.next(kept(StatusChange(status: .invisible, text: .set("a"))))
        let call = next.call(.setStatus(StatusChange(status: .busy)))
        next.handle(.token(next.engine.link.attempt, .success(Self.anasToken)))
        next.handle(.opened(next.engine.link.attempt))
        expect(Self.begun(next), equals: StatusChange(status: .busy, text: .set("a")))
        next.welcome()
        expect(next.isDone(call) && next.writes.isEmpty)
    }

    @Test(arguments: [true, false]) mutating func `a choice that was sent to one user is not sent to another`(
        isRecalled: Bool
    ) {
        var next = Self.next(isRecalled ? kept(StatusChange(status: .invisible, text: .set("a"))) : [])
        let call = next.call(.setStatus(StatusChange(status: .busy)))
        next.handle(.token(next.engine.link.attempt, .success(Self.anasToken)))
        next.handle(.opened(next.engine.link.attempt))
        expect(Self.begun(next), equals: StatusChange(status: .busy, text: isRecalled ? .set("a") : .keep))
        next.end(code: 4001)
        expect(next.isQueued(call))
        next.pass(.seconds(1))
        next.dial(token: "h.\(Data(#"{"sub":"bob"}"#.utf8).base64EncodedString()).s")
        expect(Self.begun(next), equals: nil)
        next.welcome(user: "bob")
        expect(next.sent.isEmpty && next.writes.isEmpty)
    }

    @Test mutating func `a newer choice replaces it even if the server must confirm the user first`() {
        var next = Self.next(kept(Self.invisible))
        let call = next.call(.setStatus(StatusChange(status: .busy)))
        next.dial()
        expect(Self.begun(next), equals: StatusChange(status: .busy))
        next.welcome(user: "ana")
        expect(next.isDone(call) && next.sent.isEmpty && next.writes.isEmpty)
    }

    @Test mutating func `only the text of an older choice remains, if the newer one has none`() {
        var next = Self.next(kept(StatusChange(status: .invisible, text: .set("a"))))
        _ = next.call(.setStatus(StatusChange(status: .busy)))
        next.dial()
        next.welcome(user: "ana")
        expect(next.bodies, equals: [.status(StatusChange(status: .busy, text: .set("a")))])
        next.receive(.ok(id: next.lastID))
        expect(next.writes.isEmpty)
    }

    @Test mutating func `the clearing time passes while it waits, whatever the device's clock does`() {
        let writes = kept(StatusChange(status: .busy, text: .set("lunch"), clearAfter: 60_000))
        for (later, change) in [
            (20, StatusChange(status: .busy, text: .set("lunch"), clearAfter: 40_000)),
            (90, StatusChange(status: .auto, text: .remove)),
            (-400 * 86_400, StatusChange(status: .busy, text: .set("lunch"), clearAfter: 2_592_000_000)),
        ] as [(TimeInterval, StatusChange)] {
            var next = Self.next(writes, later: later)
            next.dial(token: Self.anasToken)
            expect(Self.begun(next), equals: change)
        }
    }

    @Test mutating func `a choice that cannot be stored is not promised, but still sent by this process`() {
        bench.connect()
        bench.end(.lost(""))
        bench.storageFault = PresenceError(.storageFailed, "no space")
        let call = bench.call(.setStatus(Self.invisible))
        expect(bench.error(of: call)?.code == .storageFailed && bench.error(of: call)?.outcomeUnknown == true)
        bench.storageFault = nil
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        expect(Self.begun(bench), equals: Self.invisible)
    }

    @Test mutating func `a temporary error does not drop a promised choice`() {
        var next = Self.next(kept(Self.invisible))
        next.dial()
        next.welcome(user: "ana")
        next.receive(.refusal(next.lastID, .unavailable, retryAfter: 1_000))
        expect(next.writes.count, equals: 1)
        next.pass(.seconds(1))
        expect(next.bodies, equals: [.status(Self.invisible)])
        expect(next.engine.shownMe.queuedStatus == .invisible && next.engine.shownMe.statusRefusal == nil)
        next.receive(.refusal(next.lastID, .forbidden))
        expect(next.writes.isEmpty && next.logged.contains { $0.contains("refused") })
        expect(next.engine.shownMe.queuedStatus == nil && next.engine.shownMe.statusRefusal?.code == .forbidden)
        _ = next.call(.setStatus(StatusChange(status: .auto)))
        expect(next.engine.shownMe.statusRefusal, equals: nil)
    }

    @Test mutating func `a choice counts as queued until the server has it, whatever other devices choose`() {
        bench.connect()
        let loop = bench.open(.me)
        bench.end(.lost(""))
        _ = bench.call(.setStatus(Self.invisible))
        expect(bench.woken.contains(loop))
        expect(bench.engine.nextMe(loop)?.queuedStatus, equals: .invisible)
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        expect(bench.engine.shownMe.queuedStatus, equals: .invisible, "on its way")
        // The server accepts it, and then a change by another device.
        bench.welcome(status: OwnStatus(status: .busy))
        expect(bench.woken.contains(loop))
        let me = bench.engine.nextMe(loop)
        expect(me?.queuedStatus == nil && me?.statusRefusal == nil && me?.status?.status == .busy)
        // After a launch it is known before there is a connection.
        let next = Self.next(kept(Self.invisible))
        expect(next.engine.shownMe.queuedStatus, equals: .invisible)
    }

    @Test mutating func `a later choice ends once the storage has no older one`() {
        var next = Self.next(kept(Self.invisible))
        next.dial()
        next.welcome(user: "ana")
        next.storageAnswers = false
        next.receive(.ok(id: next.lastID))
        // A process that died now would set invisible again.
        let removal = next.directives
        let call = next.call(.setStatus(StatusChange(status: .auto)))
        next.receive(.ok(id: next.lastID))
        expect(next.answer(to: call) == nil)
        next.do(removal)
        expect(next.isDone(call) && next.writes.isEmpty)
    }
}
