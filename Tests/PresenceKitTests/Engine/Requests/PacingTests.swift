import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Requests at the same time, and faster than the server accepts.
@Suite struct PacingTests {
    private var bench = Bench()

    private var gets: [[UserID]] {
        bench.bodies.compactMap { if case .get(let users) = $0 { users } else { nil } }
    }

    @Test mutating func `lookups of one turn share a request`() {
        bench.connect()
        bench.handle((1...2_000).map { .call(CallID(number: $0), .get([UserID("u\($0)")!])) })
        expect(gets.map(\.count), equals: [1_000, 1_000])
        let ids = bench.sent.compactMap(\.id)
        bench.handle(
            zip(ids, gets).map { id, users in
                let people = users.map { UserSnapshot.online($0, 1) }
                return .received(
                    bench.engine.link.attempt, ServerMessage.users(id: id, people, more: false).encoded())
            })
        for call in 1...2_000 {
            expect(bench.people(of: CallID(number: UInt64(call)))?.map(\.user), equals: ["u\(call)"])
        }
    }

    @Test mutating func `a call waits for a rate limit within its timeout`() {
        bench.connect()
        let (one, two) = (bench.call(.get(["a"])), bench.call(.get(["b"])))
        bench.receive(
            .refusal(bench.lastID - 1, .rateLimited, retryAfter: 700),
            .refusal(bench.lastID, .rateLimited, retryAfter: 700))
        expect(bench.answer(to: one) == nil)
        bench.pass(.milliseconds(699))
        expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(1))
        expect(gets, equals: [["a", "b"]])
        bench.receive(.users(id: bench.lastID, [.online("a", 1), .online("b", 1)], more: false))
        expect(bench.people(of: one)?.map(\.user), equals: ["a"])
        expect(bench.people(of: two)?.map(\.user), equals: ["b"])
    }

    @Test mutating func `a rate limit that lasts ends with the call's timeout`() {
        bench.connect()
        let call = bench.call(.get(["a"]))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 60_000))
        bench.pass(.seconds(15))
        expect(bench.error(of: call)?.code, equals: .timedOut)
    }

    @Test mutating func `changes are rate-limited, too, and keep their results`() {
        bench.connect()
        let calls = [
            bench.call(.updateProfile(ProfileChanges(displayName: .set("A")), .fail)),
            bench.call(.changeVisibility(.block(["eve"]))), bench.call(.createConversation(.with("bob"))),
        ]
        let last = bench.lastID
        bench.receive(
            .refusal(last - 2, .rateLimited, retryAfter: 500), .refusal(last - 1, .rateLimited, retryAfter: 500),
            .refusal(last, .rateLimited, retryAfter: 500))
        for call in calls { expect(bench.answer(to: call) == nil) }
        bench.pass(.seconds(1))
        expect(bench.sent.count, equals: 3)
        bench.receive(.ok(id: bench.lastID - 1))
        expect(bench.isDone(calls[1]))
        bench.end(.lost(""))
        expect(bench.error(of: calls[0])?.outcomeUnknown, equals: true)
    }

    @Test mutating func `a rate-limited status is sent again with later choices`() {
        bench.connect()
        let first = bench.call(.setStatus(StatusChange(status: .busy, text: .set("a"))))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 500))
        let second = bench.call(.setStatus(StatusChange(status: .auto)))
        expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(500))
        expect(bench.bodies, equals: [.status(StatusChange(status: .auto, text: .set("a")))])
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(first) && bench.isDone(second))
    }

    @Test mutating func `requests of other libraries and subscriptions to conversations come again one by one`() {
        bench.connect()
        func request(_ number: UInt64) -> Input {
            .call(
                CallID(number: number),
                .other(OtherRequest(type: "follow", user: 0, members: Data(#"{"talk":\#(number)}"#.utf8))))
        }
        bench.handle((1...800).map(request))
        let last = bench.lastID
        // A long limit delays no other.
        bench.handle(
            (last - 799...last).map { id in
                let message = ServerMessage.refusal(id, .rateLimited, retryAfter: id == last - 799 ? 60_000 : 500)
                return .received(bench.engine.link.attempt, message.encoded())
            })
        let turns = bench.directives.compactMap { directive -> Duration? in
            if case .answer(_, .failure(let error)) = directive { error.retryAfter } else { nil }
        }
        expect(turns, equals: [.seconds(60)] + (1..<800).map { .milliseconds(500 + 20 * $0) })
        // A request that comes when all had their turns waits for no other.
        bench.pass(.seconds(16))
        bench.handle(request(801))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 500))
        expect(bench.error(of: CallID(number: 801))?.retryAfter, equals: .milliseconds(500))

        bench.pass(.seconds(1))
        _ = bench.open((1...3).map { .typing(ConversationID("c\($0)")!) })
        let first = bench.lastID - 2
        bench.handle(
            (first...first + 2).map {
                let message = ServerMessage.refusal($0, .rateLimited, retryAfter: 1_000)
                return .received(bench.engine.link.attempt, message.encoded())
            })
        bench.pass(.milliseconds(999))
        for wait in [1, 20, 20] {
            bench.pass(.milliseconds(wait - 1))
            expect(bench.sent.isEmpty)
            bench.pass(.milliseconds(1))
            expect(bench.sent.count, equals: 1)
        }
    }

    @Test mutating func `a rate limit is never final`() {
        bench.connect()
        for _ in 1...20 {
            bench.end(code: 1008, reason: "went on asking too fast")
            for _ in 1...60 where bench.opens == 0 { bench.pass(.seconds(1)) }
            expect(bench.opens, equals: 1)
            guard bench.opens == 1 else { return }
            bench.handle(.opened(bench.engine.link.attempt))
            bench.welcome()
            expect(bench.engine.link.isConnected)
        }
    }
}
