import Expectations
import Testing

@testable import TestSupport
@testable import WebSockets

@Suite(.timeLimit(.minutes(1)))
struct ChunkedBodyTests {
    private struct Outcome: Equatable {
        var body = ""
        var used = 0
        var hasEnded = false
        var status: Int?
    }

    private func read(_ text: String, most: Int = 100, step: Int? = nil) -> Outcome {
        var chunks = ChunkedBody(most: most)
        var outcome = Outcome()
        var body: [UInt8] = []
        let bytes = Array(text.utf8)
        while outcome.used < bytes.count, !chunks.hasEnded, outcome.status == nil {
            let piece = bytes[outcome.used..<min(bytes.count, outcome.used + (step ?? bytes.count))]
            do {
                outcome.used += try piece.withUnsafeBytes { try chunks.read($0) { body += $0 } }
            } catch {
                outcome.status = (error as? RequestFault)?.status
            }
        }
        outcome.body = String(decoding: body, as: UTF8.self)
        outcome.hasEnded = chunks.hasEnded
        return outcome
    }

    @Test(arguments: [
        ("0\r\n\r\n", ""), ("3\r\nabc\r\n0\r\n\r\n", "abc"), ("00a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("A\r\n0123456789\r\n1\r\nx\r\n000\r\n\r\n", "0123456789x"), ("1;a=b;c=\"d\"\r\nx\r\n0;z\r\n\r\n", "x"),
        ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"), ("1\r\nx\r\n0\r\nExpires: never\r\nX: y\r\n\r\n", "x"),
    ])
    func `chunks are taken apart up to the end, whole and byte by byte`(text: String, body: String) {
        for step in [nil, 1, 2, 3, 7] {
            let outcome = read(text + "GET / HTTP/1.1\r\n", step: step)
            expect(outcome, equals: Outcome(body: body, used: text.utf8.count, hasEnded: true))
        }
    }

    @Test(arguments: [
        "\r\n", "x\r\n", "g\r\n", " 3\r\nabc\r\n", "3 \r\nabc\r\n", "3\nabc\r\n", "3\r\nabcd\r\n", "3\r\nab\r\n0\r\n",
        "3\r\nabc\n0\r\n",
        "3\r\nabc0\r\n\r\n", "3\r\nabc\r0\r\n\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", "1_0\r\n", ";a\r\n", "3;a\nabc",
        "000000000\r\n",
        "ffffffffffffffff1\r\n", "0\r\n\n", "0\r\nX: y\n", "0\r\n\r\r", "0\n\n", "1;\u{0}\r\nx", "0\r\nX: \u{0}\r\n",
        "1\r\rx",
    ])
    func `an invalid chunk is rejected`(text: String) {
        for step in [nil, 1] { expect(read(text, step: step).status, equals: 400, "\(text.debugDescription)") }
    }

    @Test func `a body has as many bytes as it may, and no more`() {
        let ten = "A\r\n0123456789\r\n"
        expect(read(ten + "0\r\n\r\n", most: 10).hasEnded)
        expect(read(ten + "1\r\n", most: 10).status, equals: 413)
        expect(read("7fffffff\r\n", most: 10).status, equals: 413)
        expect(read("1\r\n", most: 0).status, equals: 413)
        expect(read("0\r\n\r\n", most: 0).hasEnded)
    }

    @Test func `the overhead of a body is bounded by it`() {
        let small = String(repeating: "1\r\nx\r\n", count: 5_000)
        expect(read(small + "0\r\n\r\n", most: 10_000).hasEnded)
        let extended = String(repeating: "1;aaaaaaaaaaaaaaaaaaaa\r\nx\r\n", count: 5_000)
        expect(read(extended, most: 10_000).status, equals: 400)
        expect(read("1;" + String(repeating: "a", count: 5_000), most: 10_000).status, equals: 400)
        expect(read("0\r\n" + String(repeating: "X: y\r\n", count: 1_000), most: 10_000).status, equals: 400)
    }

    @Test func `drawn bodies come out as they went in, however they are cut`() {
        var drawn = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var (text, body) = ("", "")
            for _ in 0..<Int.random(in: 0...8, using: &drawn) {
                let piece = String(repeating: "ab\r\n0", count: Int.random(in: 1...9, using: &drawn))
                let size = String(piece.utf8.count, radix: 16, uppercase: Bool.random(using: &drawn))
                text += "\(String(repeating: "0", count: Int.random(in: 0...2)))\(size)\r\n\(piece)\r\n"
                body += piece
            }
            text += "0\r\n\r\n"
            let step = Int.random(in: 1...text.utf8.count, using: &drawn)
            expect(
                read(text + "rest", most: 1_000, step: step),
                equals: Outcome(body: body, used: text.utf8.count, hasEnded: true), "\(text)")
        }
    }

    @Test(arguments: [1, 2, 5, 1_000])
    func `bodies in chunks are accepted, and the next request follows them`(step: Int) async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            let requests = [
                "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n",
                "GET /b HTTP/1.1\r\nHost: h\r\n\r\n",
                "DELETE /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                "POST /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
                "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nyz",
            ]
            var rest = Array(requests.joined().utf8)[...]
            while !rest.isEmpty {
                try client.send(String(decoding: rest.prefix(step * 40), as: UTF8.self))
                rest = rest.dropFirst(step * 40)
            }
            for text in ["POST /a abcde", "GET /b ", "DELETE /c ", "POST /d x", "POST /e yz"] {
                try expect(client.readResponse().text, equals: text)
            }
        }
    }
}
