import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Requests of types that only an attached library knows.
struct OtherRequestTests {
    private var bench = Bench()
    private let request = OtherRequest(type: "send", user: 0, members: Data(#"{"conversation":"c1"}"#.utf8))

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private func sent() -> [String] {
        bench.directives.compactMap { if case .send(let bytes) = $0 { Self.text(bytes) } else { nil } }
    }

    private func answers() -> [Result<[String], PresenceError>] {
        bench.directives.compactMap { directive in
            guard case .answer(_, let result) = directive else { return nil }
            return result.map { reply in
                guard case .other(let parts) = reply else { return ["\(reply)"] }
                return parts.map { String(decoding: $0, as: UTF8.self) }
            }
        }
    }

    private mutating func receive(_ text: String) {
        bench.handle(.received(bench.engine.link.attempt, Array(text.utf8)))
    }

    private mutating func ask(_ number: UInt64 = 900) {
        bench.handle(.call(CallID(number: number), .other(request)))
    }

    private var lastID: Int64 { bench.engine.requests.lastID }

    @Test func `a request has its type, its id and its members`() {
        expect(Self.text(request.encoded(id: 7)), equals: #"{"type":"send","id":7,"conversation":"c1"}"#)
        let empty = OtherRequest(type: "ask", user: 0, members: Data("{}".utf8))
        expect(Self.text(empty.encoded(id: 8)), equals: #"{"type":"ask","id":8}"#)
    }

    @Test mutating func `a reply of an unknown type is passed on as raw bytes`() {
        bench.connect()
        ask()
        expect(sent(), equals: ["{\"type\":\"send\",\"id\":\(lastID),\"conversation\":\"c1\"}"])
        let answer = "{\"type\":\"sent\",\"id\":\(lastID),\"message\":{\"id\":\"m\"}}"
        receive(answer)
        expect(answers(), equals: [.success([answer])])
        receive(answer)
        expect(answers().isEmpty)
    }

    @Test mutating func `an unreadable request without a reply does not block others`() {
        bench.connect()
        ask(901)
        ask(902)
        receive(#"{"type":"error","code":"bad_request","message":"not JSON"}"#)
        expect(answers().isEmpty)
        receive("{\"type\":\"ok\",\"id\":\(lastID)}")
        expect(answers().count, equals: 1)
        bench.handle(.alive(bench.engine.link.attempt))
        bench.pass(.seconds(15))
        expect(
            bench.directives.count {
                if case .answer(_, .failure(let error)) = $0 { error.code == .badRequest } else { false }
            }, equals: 1)
    }

    @Test mutating func `an ok, and a reply of a type that this library knows, are replies too`() {
        bench.connect()
        ask()
        receive("{\"type\":\"ok\",\"id\":\(lastID)}")
        expect(answers(), equals: [.success(["{\"type\":\"ok\",\"id\":\(lastID)}"])])
        ask(901)
        let made =
            "{\"type\":\"conversationCreated\",\"id\":\(lastID),\"conversation\":{\"id\":\"c\",\"participants\":[\"a\"]}}"
        receive(made)
        expect(answers(), equals: [.success([made])])
    }

    @Test mutating func `parts are collected up to the last one`() {
        bench.connect()
        ask()
        let first = "{\"type\":\"subscribed\",\"id\":\(lastID),\"users\":[],\"more\":true}"
        let last = "{\"type\":\"subscribed\",\"id\":\(lastID),\"users\":[]}"
        receive(first)
        expect(answers().isEmpty)
        receive(last)
        expect(answers(), equals: [.success([first, last])])
    }

    @Test mutating func `a rejection has its delay`() {
        bench.connect()
        ask()
        receive(
            "{\"type\":\"error\",\"id\":\(lastID),\"code\":\"rate_limited\",\"message\":\"slow\",\"retryAfter\":700}")
        expect(answers(), equals: [.failure(PresenceError(.rateLimited, "slow", retryAfter: .milliseconds(700)))])
    }

    @Test mutating func `if the connection breaks the outcome is unknown`() {
        bench.connect()
        ask()
        bench.end(.lost("gone"))
        guard case .failure(let error) = answers().first else {
            Issue.record("no answer")
            return
        }
        expect(error.code == .connectionLost && error.outcomeUnknown)
    }

    @Test(arguments: [CloseCode.replaced, .disconnected, .policyViolation])
    mutating func `after a final close the code is notConnected, and the reason is in the text`(
        code: CloseCode
    ) throws {
        bench.connect()
        bench.end(.closed(code: code, reason: []))
        let reason = try #require(bench.engine.link.closingProblem)
        expect(reason.code != .notConnected)
        ask()
        expect(answers(), equals: [.failure(PresenceError(.notConnected, "not connected: \(reason)"))])
    }

    @Test mutating func `a ban while connected keeps the whole reason, which the close may lack`() throws {
        bench.connect()
        bench.receive(.error(.init(code: .banned, message: "m", reason: "Spam", until: 1_763_798_400_000)))
        bench.end(.closed(code: .banned, reason: Array(#"{"code":"banned","until":1763798400000}"#.utf8)))
        let problem = try #require(bench.engine.link.closingProblem)
        expect(problem.code == .banned && problem.reason?.rawValue == "Spam")
        expect(problem.until?.timeIntervalSince1970, equals: 1_763_798_400)
    }

    @Test mutating func `a request that waits for the first connection does not fail as if rejected by the server`() {
        bench.handle(.connect)
        ask()
        let refusal = PresenceError(.unauthorized, "nobody is signed in")
        bench.handle(.token(bench.engine.link.attempt, .failure(refusal)))
        expect(answers(), equals: [.failure(PresenceError(.notConnected, "not connected: \(refusal)"))])
    }

    @Test mutating func `a request waits for the first connection, and is sent on it`() {
        bench.handle(.connect)
        ask()
        expect(answers().isEmpty && sent().isEmpty)
        bench.connect()
        expect(sent().contains { $0.contains("\"send\"") })
    }

    @Test(arguments: [false, true])
    mutating func `a request of a former user that arrives later is refused, also without a connection`(
        isConnected: Bool
    ) {
        bench.connect()
        if isConnected {
            bench.switchUser()
            bench.connect(user: "eve")
        } else {
            bench.signOut()
        }
        ask()
        expect(answers() == [.failure(.signedOut)] && sent().isEmpty)
    }

    @Test mutating func `a request times out, and its late reply is ignored`() {
        bench.connect()
        ask()
        let id = lastID
        bench.pass(.seconds(16))
        guard case .failure(let error) = answers().first else {
            Issue.record("no answer")
            return
        }
        expect(error.code == .timedOut && error.outcomeUnknown)
        receive("{\"type\":\"sent\",\"id\":\(id)}")
        expect(answers().isEmpty)
    }

    @Test mutating func `libraries are notified of each connection, of events, and of a sign-out`() {
        bench.connect()
        expect(events(), equals: [.connected(user: "ana")])
        receive(#"{"type":"message","conversation":"c1"}"#)
        expect(
            bench.directives.contains { if case .handOver("message", _) = $0 { true } else { false } })
        bench.handle(.signOut(CallID(number: 950)))
        expect(events(), equals: [.forgotten(1, next: nil)])
    }

    private func events() -> [LibraryEvent] {
        bench.directives.compactMap { if case .tell(let event) = $0 { event } else { nil } }
    }
}
