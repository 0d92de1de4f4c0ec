import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Typing, and rules for all calls.
@Suite struct CallsTests {
    private var bench = Bench()
    private static let name = ProfileChanges(displayName: .set("Ana"))

    @Test mutating func `the client is busy while it connects and until all is answered`() {
        expect(!bench.engine.isBusy)
        bench.dial()
        expect(bench.engine.isBusy)
        bench.welcome()
        expect(!bench.engine.isBusy)
        bench.handle(.typing("c1", true))
        expect(bench.engine.isBusy)
        bench.receive(.ok(id: bench.lastID))
        expect(!bench.engine.isBusy)
        let id = bench.call(.updateProfile(Self.name, .fail))
        expect(bench.engine.isBusy)
        bench.receive(.refusal(bench.lastID, .forbidden))
        expect(bench.answer(to: id) != nil && !bench.engine.isBusy)
    }

    // MARK: Typing

    @Test mutating func `typing is renewed every 3 s until it is stopped`() {
        bench.connect()
        bench.handle(.typing("c1", true))
        expect(bench.bodies, equals: [.typing(conversation: "c1", typing: true)])
        bench.receive(.ok(id: bench.lastID))
        for _ in 0..<3 {
            bench.pass(.seconds(3))
            expect(bench.bodies, equals: [.typing(conversation: "c1", typing: true)])
            bench.receive(.ok(id: bench.lastID))
        }
        bench.handle(.typing("c1", true))
        expect(bench.sent.isEmpty)
        bench.handle(.typing("c1", false))
        expect(bench.bodies, equals: [.typing(conversation: "c1", typing: false)])
        bench.pass(.seconds(20))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `key presses and a stop in one turn are sent in order`() {
        bench.connect()
        bench.handle([.typing("c1", true), .typing("c1", true), .typing("c1", false)])
        expect(
            bench.bodies,
            equals: [.typing(conversation: "c1", typing: true), .typing(conversation: "c1", typing: false)])
    }

    @Test mutating func `typing where one may not is not repeated, and logged`() {
        bench.connect()
        bench.handle(.typing("c9", true))
        bench.receive(.refusal(bench.lastID, .forbidden))
        expect(bench.logged.contains { $0.contains("forbidden") })
        bench.pass(.seconds(20))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a removal from the conversation ends the renewal`() {
        bench.connect()
        bench.handle(.typing("c1", true))
        bench.receive(.ok(id: bench.lastID))
        bench.pass(.seconds(3))
        bench.receive(.refusal(bench.lastID, .forbidden))
        bench.pass(.seconds(20))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `typing continues after a reconnect`() {
        bench.connect()
        bench.handle(.typing("c1", true))
        bench.end(.lost(""))
        bench.handle(.typing("c2", true))
        bench.comeBack()
        expect(
            Set(bench.bodies),
            equals: [
                .typing(conversation: "c1", typing: true), .typing(conversation: "c2", typing: true),
            ])
        bench.end(.lost(""))
        bench.handle(.typing("c1", false))
        bench.comeBack()
        expect(bench.bodies, equals: [.typing(conversation: "c2", typing: true)])
    }

    @Test mutating func `the background ends all typing`() {
        bench.connect()
        bench.handle(.typing("c1", true))
        bench.handle(.background)
        expect(bench.bodies, equals: [.typing(conversation: "c1", typing: false), .activity(.background)])
        bench.pass(.seconds(20))
        expect(bench.sent.isEmpty)
    }

    // MARK: All calls

    @Test mutating func `a cancelled call ends once`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.handle(.cancel(call))
        expect(bench.error(of: call)?.code, equals: .cancelled)
        bench.handle(.cancel(call))
        bench.receive(.ok(id: bench.lastID))
        expect(bench.answer(to: call) == nil)
    }

    @Test mutating func `a call that is cancelled after it was sent may have taken effect`() {
        let status = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.handle(.cancel(status))
        expect(bench.error(of: status)?.outcomeUnknown, equals: true, "it is sent with the connection")
        let waiting = bench.call(.updateProfile(Self.name, .fail))
        bench.handle(.cancel(waiting))
        expect(bench.error(of: waiting)?.outcomeUnknown, equals: false)
        bench.connect()
        let (sent, read) = (bench.call(.updateProfile(Self.name, .fail)), bench.call(.get(["b"])))
        bench.handle([.cancel(sent), .cancel(read)])
        expect(bench.error(of: sent)?.outcomeUnknown, equals: true)
        expect(bench.error(of: read)?.outcomeUnknown, equals: false)
    }

    @Test mutating func `a status that was sent with connect may take effect though its call times out`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.pass(.seconds(15))
        expect(bench.error(of: call)?.code, equals: .timedOut)
        expect(bench.error(of: call)?.outcomeUnknown, equals: true)
    }

    @Test mutating func `an unanswered status may take effect though the client closes`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.end(code: 4006)
        expect(bench.error(of: call)?.outcomeUnknown, equals: true)
        expect(bench.error(of: call)?.code, equals: .disconnectedByAdministrator)
        bench = Bench()
        let never = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.disconnect()
        expect(bench.error(of: never)?.outcomeUnknown, equals: false)
    }

    @Test(arguments: [
        Call.updateProfile(Self.name, .queue), .updateProfile(Self.name, .fail),
        .createConversation(.with("bob")), .setStatus(StatusChange(status: .busy)), .readVisibility,
    ])
    mutating func `if there can never be a connection, no call is delayed`(call: Call) {
        bench = Bench(flaw: PresenceError(.invalidURL, "not the address of a WebSocket"))
        for _ in 0..<2 {
            let id = bench.call(call)
            expect(bench.error(of: id)?.code, equals: .invalidURL)
            expect(bench.error(of: id)?.outcomeUnknown, equals: false)
        }
        let kept = bench.open(.keptProfile)
        expect(bench.engine.nextKeptProfile(kept), equals: PresenceKit.ProfileChanges.Pending())
    }

    @Test mutating func `a call that waits for the connection can be cancelled, and is not sent`() {
        let call = bench.call(.createConversation(.with("bob")))
        bench.handle(.cancel(call))
        expect(bench.error(of: call)?.code, equals: .cancelled)
        bench.connect()
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `no call waits longer than its timeout`() {
        bench.connect()
        let calls = [
            bench.call(.setStatus(StatusChange(status: .busy))), bench.call(.updateProfile(Self.name, .fail)),
            bench.call(.createConversation(.with("b"))), bench.call(.get(["b"])),
        ]
        bench.pass(.milliseconds(14_999))
        for call in calls { expect(bench.answer(to: call) == nil) }
        bench.pass(.milliseconds(1))
        for call in calls {
            expect(bench.error(of: call)?.code, equals: .timedOut)
            expect(bench.error(of: call)?.outcomeUnknown, equals: call != calls[3])
        }
    }

    @Test mutating func `a slow token provider delays calls no longer than the client's patience`() {
        let (creation, update) = (
            bench.call(.createConversation(.with("b"))), bench.call(.updateProfile(Self.name, .fail))
        )
        let (read, status) = (bench.call(.get(["b"])), bench.call(.setStatus(StatusChange(status: .busy))))
        bench.pass(.milliseconds(2_999))
        for call in [creation, update, read, status] { expect(bench.answer(to: call) == nil) }
        bench.pass(.milliseconds(1))
        for call in [creation, update] {
            expect(bench.error(of: call)?.code, equals: .notConnected)
            expect(bench.error(of: call)?.outcomeUnknown, equals: false)
        }
        expect(bench.isQueued(status))
        bench.handle(.cached([]))
        expect(bench.people(of: read)?.unanswered, equals: ["b"])
        let late = bench.call(.createConversation(.with("b")))
        expect(bench.error(of: late)?.code, equals: .notConnected)
        bench.connect()
        expect(bench.sent.isEmpty, "the status went with connect")
    }
}
