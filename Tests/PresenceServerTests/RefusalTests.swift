import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Answers to changes that failed or whose outcome is unknown.
@Suite struct RefusalTests {
    @Test(
        arguments: [
            (.disconnected(sent: true), .unavailable, true), (.timedOut(sent: true), .unavailable, true),
            (.disconnected(sent: false), .unavailable, false), (.timedOut(sent: false), .unavailable, false),
            (.overloaded, .unavailable, false), (.unreachable(reason: "no"), .unavailable, false),
            // Redis returns these errors before it runs a script.
            (.server(code: "OOM", message: "OOM"), .unavailable, false),
            (.server(code: "READONLY", message: "READONLY"), .unavailable, false),
            (.server(code: "NOREPLICAS", message: "NOREPLICAS"), .unavailable, false),
            // A script that fails has run up to that point.
            (.server(code: "ERR", message: "ERR user_script:7"), .internal, true),
            (.server(code: "WRONGTYPE", message: "WRONGTYPE"), .internal, true),
        ] as [(RedisFailure, ErrorCode, Bool)])
    func `an error shows whether the change may have been made`(
        failure: RedisFailure, code: ErrorCode, isUnknown: Bool
    ) throws {
        let refusal = try #require(Refusal(.failure(failure))).message.with(id: 7)
        expect(refusal.id == 7 && refusal.code == code)
        expect(refusal.outcomeUnknown, equals: isUnknown)
        expect(refusal.retryAfter != nil, equals: code == .unavailable)
        // A read has no unknown outcome.
        let reading = try #require(Refusal(.failure(failure), changes: false)).message
        expect(reading.code == code && !reading.outcomeUnknown)
    }

    @Test(
        arguments: [
            ("FENCED", .unavailable), ("ENDED", .unavailable), ("REVOKED", .unauthorized),
        ] as [(String, ErrorCode)])
    func `a rejection by a script means that nothing changed`(word: String, code: ErrorCode) throws {
        let refusal = try #require(Refusal(.success(.array([.status(word)])))).message
        expect(refusal.code == code && !refusal.outcomeUnknown)
        expect(Refusal(.success(.array([.status("OK")]))) == nil)
        expect(Refusal(.success(.array([.status("FULL")])), known: ["OK", "FULL"]) == nil)
        let nonsense = try #require(Refusal(.success(.integer(1)))).message
        expect(nonsense.code == .internal && nonsense.outcomeUnknown)
    }

    @Test func `however often a client meets a fault, the log has one line a second, with their number`() throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        let keys = world.shards[0].logic.partitions.keys(of: UserID("ana")!)
        _ = world.redis.command(["SET", keys.contacts(UserID("ana")!), "no list"])
        for number in 0..<200 {
            ana.sendText(#"{"type":"addContacts","id":\#(100 + number),"users":["bob"]}"#)
            try world.run(for: 20)
        }
        try world.run(for: 2_000)
        ana.sendText(#"{"type":"addContacts","id":999,"users":["bob"]}"#)
        try world.run(for: 100)
        let met = ana.texts.filter { $0.contains(#""code":"internal""#) }.count
        let lines = world.shards[0].log.of("internal error")
        expect((4...6).contains(lines.count) && met > 20, "\(lines.count) lines of \(met)")
        let counts: [Int] = lines.compactMap { Int($0.fields["count"] ?? "") }
        expect(counts.reduce(0, +), equals: met)
        expect(lines.allSatisfy { $0.level == .error && $0.fields["reason"]?.contains("WRONGTYPE") == true })
    }
}
