import Expectations
import Foundation
import PresenceProtocol
import Signing
import Testing

@testable import presence_load

@Suite struct SupportTests {
    @Test func `percentiles are right to three digits and the maximum is exact enough`() throws {
        var latencies = Latencies()
        expect(latencies.summary, equals: nil)
        for index in 1...10_000 { latencies.record(.milliseconds(Double(index) / 100)) }
        let summary = try #require(latencies.summary)
        expect(summary.count, equals: 10_000)
        for (figure, expected) in [
            (summary.p50, 50.0), (summary.p90, 90), (summary.p99, 99), (summary.p999, 99.9), (summary.max, 100),
        ] {
            expect(abs(figure - expected) / expected < 0.002)
        }
        expect(summary.p999 <= summary.max)
    }

    @Test func `a latency beyond a minute is kept, and one below nothing counts as nothing`() {
        var latencies = Latencies()
        latencies.record(.seconds(300))
        latencies.record(-5)
        expect(latencies.count, equals: 2)
        expect(abs(latencies.summary!.max - 300_000) < 300)
    }

    @Test func `the tool reports when it was the bottleneck itself`() {
        var onTime = Latencies()
        onTime.record(.milliseconds(0.1))
        var late = Latencies()
        late.record(.milliseconds(50))
        expect(Bottlenecks.find(cpuShare: 0.5, lateness: onTime).isEmpty)
        expect(Bottlenecks.find(cpuShare: 0.97, lateness: nil).count, equals: 1)
        expect(Bottlenecks.find(cpuShare: 0.97, lateness: late).count, equals: 2)
    }

    @Test func `numbers are grouped by thousands`() {
        expect(formatted(0), equals: "0")
        expect(formatted(-1_234_567), equals: "-1,234,567")
        expect(formatted(1_234.56), equals: "1,234.6")
        expect(formatted(-0.25, digits: 2), equals: "-0.25")
        expect(formatted(999.6, digits: 0), equals: "1,000")
    }

    @Test func `a token is signed with the secret and has its user and expiry`() throws {
        let secret = "a secret of thirty-two bytes or more"
        let mint = try #require(TokenMint(secret: secret))
        let parts = mint.token(user: "a\"\\b").split(separator: ".")
        expect(parts.count, equals: 3)
        func data(_ part: Substring) throws -> Data {
            let text = part.replacing("-", with: "+").replacing("_", with: "/")
            return try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
        }
        let claims = try #require(try JSONSerialization.jsonObject(with: data(parts[1])) as? [String: Any])
        expect(claims["sub"] as? String, equals: "a\"\\b")
        try expect(#require(claims["exp"] as? Double) > Date().timeIntervalSince1970 + 80_000)
        let key = try #require(HMACKey(.hs256, secret: Array(secret.utf8)))
        expect(key.verify(Array(try data(parts[2])), of: Array("\(parts[0]).\(parts[1])".utf8)[...]))
    }

    @Test func `white space around the secret does not count, and a missing, empty or short one is a sentence`() throws
    {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("secret")
        #expect(throws: Failure.self) { _ = try TokenMint(file: file.path) }
        try Data(" \n".utf8).write(to: file)
        #expect(throws: Failure("the secret in \(file.path) is empty")) { _ = try TokenMint(file: file.path) }
        try Data("s3cret\n".utf8).write(to: file)
        #expect(throws: Failure("the secret in \(file.path) is too short")) { _ = try TokenMint(file: file.path) }
        try Data("a secret of thirty-two bytes or more\n".utf8).write(to: file)
        let signature = try TokenMint(file: file.path).token(user: "ana", lifetime: 0)
        expect(signature.split(separator: ".").count, equals: 3)
    }

    @Test func `connections begin at their rate, and never too many at once`() {
        var ramp = Ramp(total: 1_000, rate: 100)
        let start = Instant(nanoseconds: 0)
        func due(_ seconds: Double, ready: Int) -> Range<Int> { ramp.due(now: start + .seconds(seconds), ready: ready) }
        expect(due(0, ready: 0), equals: 0..<1)
        expect(ramp.next(now: start), equals: start + .milliseconds(10))
        expect(due(1, ready: 0), equals: 1..<101)
        expect(due(9, ready: 0), equals: 101..<Ramp.atOnce)
        expect(ramp.next(now: start + .seconds(9)), equals: nil, "answers must come first")
        expect(due(99, ready: 900), equals: Ramp.atOnce..<1_000)
        expect(due(99, ready: 1_000).isEmpty)
    }

    @Test func `a list is cut into pieces that know how many follow`() {
        var batches = Batches([1, 2, 3, 4, 5], size: 2)
        var pieces: [[Int]] = []
        var left: [Int] = []
        while let next = batches.next() {
            pieces.append(next.piece)
            left.append(next.left)
        }
        expect(pieces, equals: [[1, 2], [3, 4], [5]])
        expect(left, equals: [2, 1, 0])
    }

    @Test func `the same bytes are decoded once, and others never mistaken for them`() throws {
        var cache = EventCache()
        func decode(_ text: String) throws -> ServerMessage {
            try Array(text.utf8).withUnsafeBytes { try cache.decode($0) }
        }
        func event(_ version: Int) -> String {
            #"{"type":"presence","user":"bob","presence":{"version":\#(version),"status":"away","since":1},"at":1}"#
        }
        for _ in 0..<100 {
            for version in 1...20 {
                guard case .presence(_, let presence, _) = try decode(event(version)) else {
                    Issue.record("not a presence")
                    return
                }
                expect(presence.version, equals: Int64(version))
            }
        }
        expect(cache.misses <= 40, "only events that share a place are decoded again")
        #expect(throws: (any Error).self) { try decode("{\"type\":") }
    }

    @Test func `the clock of a process that does not exist is refused`() throws {
        #expect(throws: Failure.self) { _ = try ProcessorTime(processes: [999_999_999]) }
        let own = try ProcessorTime(processes: [getpid()])
        expect(own.used() > 0)
    }

    @Test func `names make valid ids, each its own`() {
        let ids = (0..<200).map { Names.id(of: Names.name($0)) }
        expect(ids.allSatisfy { UserID($0) != nil })
        expect(Set(ids).count, equals: ids.count)
        expect(ids[2], equals: "chloe")
    }
}
