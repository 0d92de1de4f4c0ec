import Expectations
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Creations of conversations: repeated with their key while the outcome is unknown, and no longer.
@Suite struct CreationTests {
    private var bench = Bench()

    private mutating func comeBack() {
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
    }

    private static let creation = ClientMessage.Body.createConversation(participants: ["bob"], key: CreationKey("k"))

    private func conversation(_ call: CallID) -> Conversation? {
        guard case .success(.conversation(let conversation)) = bench.answer(to: call) else { return nil }
        return conversation
    }

    @Test mutating func `a creation in flight when the connection broke is repeated with its key`() {
        bench.connect()
        let call = bench.call(.createConversation(.with("bob")))
        expect(bench.bodies, equals: [Self.creation])
        for _ in 0..<2 {
            bench.end(.lost(""))
            expect(bench.answer(to: call) == nil)
            comeBack()
            expect(bench.bodies, equals: [Self.creation])
        }
        bench.receive(.conversationCreated(id: bench.lastID, .init(id: "c1", participants: ["ana", "bob"])))
        expect(conversation(call), equals: Conversation(id: "c1", participants: ["ana", "bob"]))
        bench.end(.lost(""))
        comeBack()
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a creation with an outcome unknown to the server is repeated after the named delay`() {
        bench.connect()
        let call = bench.call(.createConversation(.with("bob")))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000, outcomeUnknown: true))
        expect(bench.answer(to: call) == nil)
        bench.pass(.milliseconds(1_999))
        expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(1))
        expect(bench.bodies, equals: [Self.creation])
        bench.receive(.conversationCreated(id: bench.lastID, .init(id: "c1", participants: ["ana", "bob"])))
        expect(conversation(call)?.id, equals: "c1")
        bench.pass(.seconds(60))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a repetition that fails temporarily is repeated, one that is rejected is not`() {
        bench.connect()
        let call = bench.call(.createConversation(.with("bob")))
        bench.end(.lost(""))
        comeBack()
        // This request changed nothing, but the first one may have.
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 1_000))
        expect(bench.answer(to: call) == nil)
        bench.pass(.seconds(1))
        expect(bench.bodies, equals: [Self.creation])
        bench.receive(.refusal(bench.lastID, .tooMany))
        expect(bench.error(of: call)?.code, equals: .tooMany)
        expect(bench.error(of: call)?.outcomeUnknown, equals: false)
    }

    @Test mutating func `a creation that changed nothing is not repeated`() {
        bench.connect()
        let call = bench.call(.createConversation(.with("bob")))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        expect(bench.error(of: call)?.code, equals: .unavailable)
        expect(bench.error(of: call)?.outcomeUnknown, equals: false)
        bench.pass(.seconds(60))
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a creation is repeated only while its call is pending`() {
        bench.connect()
        let call = bench.call(.createConversation(.with("bob")))
        bench.end(.lost(""))
        bench.pass(.seconds(15))
        expect(bench.error(of: call)?.code, equals: .timedOut)
        expect(bench.error(of: call)?.outcomeUnknown, equals: true)
        comeBack()
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `a creation in flight when the client closes for good has an unknown outcome`() {
        bench.connect()
        let sent = bench.call(.createConversation(.with("bob")))
        bench.end(code: 4006)
        expect(bench.error(of: sent)?.code, equals: .disconnectedByAdministrator)
        expect(bench.error(of: sent)?.outcomeUnknown, equals: true)
        bench = Bench()
        let waiting = bench.call(.createConversation(.with("bob")))
        bench.disconnect()
        expect(bench.error(of: waiting)?.outcomeUnknown, equals: false)
    }
}

extension Creation {
    static func with(_ user: UserID) -> Creation { Creation(participants: [user], key: CreationKey("k")!) }
}
