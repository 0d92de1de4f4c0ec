import Expectations
import Testing

@testable import OutgoingHTTP

/// Answers of HTTP/1.1, whole and byte by byte.
@Suite struct AnswerReaderTests {
    struct Found: Equatable {
        var status = 200
        var body = ""
        var isKept = true
    }

    /// - Parameter text: Without a first line, that of an answer with status 200 comes before it.
    private static func read(_ text: String, most: Int = 100, step: Int) -> (AnswerReader.Progress, Found) {
        let isWhole = text.hasPrefix("HTTP") || text.hasPrefix("ICY") || text.isEmpty
        var reader = AnswerReader(most: most)
        var progress = AnswerReader.Progress.more
        var rest = Array((isWhole ? text : "HTTP/1.1 200 OK\r\n" + text).utf8)[...]
        while progress == .more, !rest.isEmpty {
            progress = Array(rest.prefix(step)).withUnsafeBytes { reader.read($0) }
            rest = rest.dropFirst(step)
        }
        let isKept = reader.isKept && rest.isEmpty
        return (
            progress == .more ? reader.end : progress,
            Found(status: reader.status, body: String(decoding: reader.body, as: UTF8.self), isKept: isKept)
        )
    }

    static let good: [(String, Found)] = [
        ("Content-Length: 5\r\n\r\nhello", Found(body: "hello")),
        ("content-length:0\r\n\r\n", Found()),
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", Found(body: "ok")),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", Found(body: "ok")),
        ("HTTP/1.1 204\r\n\r\n", Found(status: 204)),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", Found(status: 304)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Found(body: "ok")),
        (
            "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n",
            Found(body: "hello!")
        ),
        ("Connection: Close\r\nContent-Length: 2\r\n\r\nok", Found(body: "ok", isKept: false)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", Found(body: "ok", isKept: false)),
        ("\r\nuntil the end", Found(body: "until the end", isKept: false)),
    ]

    @Test(arguments: good) func `an answer is read to its end`(text: String, wanted: Found) {
        for step in [1, 2, 7, 1_000] {
            let (progress, found) = Self.read(text, step: step)
            expect(progress == .whole && found == wanted, "\(step) at a time: \(progress) \(found)")
        }
    }

    @Test func `bytes after an answer end the connection`() {
        let (progress, found) = Self.read("Content-Length: 2\r\n\r\nokHTTP/1.1", step: 1_000)
        expect(progress == .whole && found == Found(body: "ok", isKept: false))
    }

    private static let bad = [
        "HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1 101 Up\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 1, 1\r\n\r\nx",
        "Content-Length: 1x\r\n\r\nx", "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "Content-Length: 9999999999999\r\n\r\n", "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n", "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        "no colon\r\n\r\n", ": empty\r\n\r\n", "Content-Length: 5\r\n\r\nhell", "HTTP/1.1 200 OK\r\n", "",
    ]

    @Test(arguments: bad) func `nonsense is broken`(text: String) {
        for step in [1, 3, 1_000] { expect(Self.read(text, step: step).0, equals: .broken, "\(step) at a time") }
    }

    private static let large = [
        "Content-Length: 101\r\n\r\n", "\r\n\(String(repeating: "x", count: 101))",
        "Transfer-Encoding: chunked\r\n\r\n65\r\n",
        "Transfer-Encoding: chunked\r\n\r\n64\r\n\(String(repeating: "x", count: 100))\r\n1\r\n",
        String(repeating: "X: y\r\n", count: 11_000),
    ]

    @Test(arguments: large) func `an answer has a largest size`(text: String) {
        for step in [1, 1_000] { expect(Self.read(text, step: step).0, equals: .tooLarge, "\(step) at a time") }
    }
}
