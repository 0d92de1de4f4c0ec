import Testing

@testable import OutgoingHTTP

/// Answers of HTTP/1.1, whole and byte by byte.
@Suite struct AnswerReaderTests {
    private struct Found: Equatable {
        var status = 0
        var body = ""
        var isKept = true
    }

    private static let head = "HTTP/1.1 200 OK\r\n"

    private static func read(_ text: String, most: Int = 100, step: Int) -> (AnswerReader.Progress, Found) {
        var reader = AnswerReader(most: most)
        var progress = AnswerReader.Progress.more
        var rest = Array(text.utf8)[...]
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

    @Test(arguments: [
        (head + "Content-Length: 5\r\n\r\nhello", Found(status: 200, body: "hello")),
        (head + "content-length:0\r\n\r\n", Found(status: 200)),
        (head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", Found(status: 200, body: "ok")),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", Found(status: 200, body: "ok")),
        ("HTTP/1.1 204\r\n\r\n", Found(status: 204)),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", Found(status: 304)),
        ("HTTP/1.1 100 Continue\r\n\r\n" + head + "Content-Length: 2\r\n\r\nok", Found(status: 200, body: "ok")),
        (
            head + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n",
            Found(status: 200, body: "hello!")
        ),
        (head + "Connection: Close\r\nContent-Length: 2\r\n\r\nok", Found(status: 200, body: "ok", isKept: false)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", Found(status: 200, body: "ok", isKept: false)),
        (head + "\r\nuntil the end", Found(status: 200, body: "until the end", isKept: false)),
        (head + "Content-Length: 2\r\n\r\nokHTTP/1.1", Found(status: 200, body: "ok", isKept: false)),
    ])
    func `an answer is read to its end`(text: String, wanted: Found) {
        for step in [1, 2, 7, 1_000] {
            let (progress, found) = Self.read(text, step: step)
            #expect(progress == .whole && found == wanted, "\(step) at a time: \(progress) \(found)")
        }
    }

    @Test(arguments: [
        "HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1 101 Up\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        head + "Content-Length: -1\r\n\r\n", head + "Content-Length: 1, 1\r\n\r\nx",
        head + "Content-Length: 1x\r\n\r\nx",
        head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", head + "Content-Length: 9999999999999\r\n\r\n",
        head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n", head + "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        head + "no colon\r\n\r\n", head + ": empty\r\n\r\n",
        head + "Content-Length: 5\r\n\r\nhell", head, "",
    ])
    func `nonsense is broken`(text: String) {
        for step in [1, 3, 1_000] { #expect(Self.read(text, step: step).0 == .broken, "\(step) at a time") }
    }

    @Test(arguments: [
        head + "Content-Length: 101\r\n\r\n", head + "\r\n" + String(repeating: "x", count: 101),
        head + "Transfer-Encoding: chunked\r\n\r\n65\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n64\r\n"
            + String(repeating: "x", count: 100) + "\r\n1\r\n",
        head + String(repeating: "X: y\r\n", count: 11_000),
    ])
    func `an answer has a largest size`(text: String) {
        for step in [1, 1_000] { #expect(Self.read(text, step: step).0 == .tooLarge, "\(step) at a time") }
    }
}
