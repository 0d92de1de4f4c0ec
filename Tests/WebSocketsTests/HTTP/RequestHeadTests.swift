import Expectations
import Testing

@testable import WebSockets

/// Heads byte by byte: the cases of picohttpparser's and llhttp's own tests, and those that servers have been attacked
/// with.
struct RequestHeadTests {
    private func read(_ text: String, maxBytes: Int = 16_384, maxFields: Int = 100) throws -> RequestHead? {
        try read(Array(text.utf8), maxBytes: maxBytes, maxFields: maxFields)
    }

    private func read(_ bytes: [UInt8], maxBytes: Int = 16_384, maxFields: Int = 100) throws -> RequestHead? {
        var reader = RequestHeadReader(maxBytes: maxBytes, maxFields: maxFields)
        return try bytes.withUnsafeBytes {
            if case .head(let head, let length) = try reader.read($0) {
                expect(length <= bytes.count)
                return head
            }
            return nil
        }
    }

    private func status(_ bytes: [UInt8]) -> Int? {
        do {
            return try read(bytes) == nil ? nil : 200
        } catch {
            return (error as? RequestFault)?.status
        }
    }

    @Test func `a head is read into its parts`() throws {
        let head = try #require(
            try read("GET /a%2F..%2Fb?x=/y%20 HTTP/1.1\r\nHost: h:80\r\nfoo: a \t \r\nCookie: \r\nFOO: b\r\n\r\nrest"))
        expect(head.method == "GET" && head.path == "/a%2F..%2Fb" && head.query == "x=/y%20" && head.isHTTP11)
        expect(head.host == "h:80" && head.headers["foo"] == "a, b" && head.headers["cookie"] == "")
        expect(head.headers["absent"] == nil && head.contentLength == nil && head.headers.count == 4)
    }

    @Test(arguments: [
        "GET / HTTP/1.0\r\n\r\n", "\r\nGET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n|~: 1\r\n\r\n",
        "GET /hoge HTTP/1.1\r\nHost: example.com\r\nUser-Agent: \u{3072}/1.0\r\n\r\n",
        "M-SEARCH * HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /\"foo\\<>^`{|}~ HTTP/1.1\r\nHost:h\r\n\r\n", "GET / HTTP/1.1\r\nhOsT:\t h \t\r\nX:\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", "get / HTTP/1.0\r\n\r\n",
        "GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET HTTP://h HTTP/1.1\r\nHost: other\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]:80\r\nX: v\r\nUser: u\r\nX-Auth: a\r\nIf: i\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 007\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding:\t Chunked \r\n\r\n",
    ])
    func `heads that RFC 9112 allows are read`(text: String) throws {
        try expect(read(text) != nil)
    }

    /// Each is rejected with 400 as soon as its line is complete.
    static let malformed: [String] = [
        // The request line.
        " / HTTP/1.0\r\n", "GET  HTTP/1.0\r\n", "GET   /   HTTP/1.0\r\n", "G\0T / HTTP/1.0\r\n", "G\tT / HTTP/1.0\r\n",
        ":GET / HTTP/1.0\r\n", "GET /\u{7f}hello HTTP/1.0\r\n", "GET /\u{e9} HTTP/1.0\r\n", "GET\t/ HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n", "GET / HTTP/1.1x\r\n", "GET / HTTP/1.11\r\n", "GET / HTTP/9.9\r\n", "GET / HTTP/2.0\r\n",
        "GET / FOO/1.1\r\n", "GET / http/1.1\r\n", "GET / HTTP/01.1\r\n", "GET / HTTP/1,1\r\n", "GET /\r\n", "GET\r\n",
        "GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n", "GET http://a@b/ HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a#b HTTP/1.1\r\n",
        "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\r\n", "\r\n\r\n", "\nGET / HTTP/1.1\r\n", "\u{16}\u{3}\u{1}",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // Names.
        "GET / HTTP/1.0\r\n:a\r\n", "GET / HTTP/1.0\r\n: a\r\n", "GET / HTTP/1.0\r\n :a\r\n",
        "GET / HTTP/1.0\r\na\0b: c\r\n",
        "GET / HTTP/1.0\r\na\u{1b}b: c\r\n", "GET / HTTP/1.0\r\n/: 1\r\n", "GET / HTTP/1.0\r\n{: 1\r\n",
        "GET / HTTP/1.0\r\nfoo : ab\r\n", "GET / HTTP/1.0\r\nfoo\t: ab\r\n", "GET / HTTP/1.0\r\nno colon\r\n",
        "GET / HTTP/1.0\r\nfoo\r\n", "GET / HTTP/1.0\r\n\u{e9}: x\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 21\r\n",
        // Folded lines, line ends, and values.
        "GET / HTTP/1.0\r\nfoo: a\r\n b\r\n", "GET / HTTP/1.0\r\nfoo: a\r\n\tb\r\n", "GET / HTTP/1.0\r\n folded: x\r\n",
        "GET / HTTP/1.0\r\nfoo: a\n", "GET / HTTP/1.0\r\nfoo: a\rb: c\r\n", "GET / HTTP/1.0\r\nfoo: a\r\r\n",
        "GET / HTTP/1.0\r\nab: c\0d\r\n", "GET / HTTP/1.0\r\nab: c\u{1b}\r\n", "GET / HTTP/1.0\r\nab: \u{7f}\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \0x\r\n",
        // The whole.
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked;q=1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nOrigin: a\r\norigin: b\r\n\r\n",
    ]

    @Test(arguments: malformed)
    func `heads that RFC 9112 forbids are rejected at once, whole or in pieces`(text: String) {
        let bytes = Array(text.utf8)
        expect(status(bytes), equals: 400)
        var reader = RequestHeadReader()
        var fault: RequestFault?
        for count in 1...bytes.count where fault == nil {
            do {
                _ = try bytes[..<count].withUnsafeBytes { try reader.read($0) }
            } catch {
                fault = error as? RequestFault
            }
        }
        expect(fault?.status, equals: 400)
    }

    @Test(arguments: [
        "GET /hoge HTTP/1.1\r\nHost: example.com\r\nX: v\r\n\r\n", "\r\nPUT http://h/x?y HTTP/1.1\r\nHost: h\r\n\r\n",
    ])
    func `a head in pieces is incomplete until its last byte, and then the same`(text: String) throws {
        let bytes = Array(text.utf8)
        for first in 0..<bytes.count {
            var reader = RequestHeadReader()
            for count in [first, bytes.count - 1] {
                let reading = try bytes[..<count].withUnsafeBytes { try reader.read($0) }
                guard case .incomplete = reading else {
                    Issue.record("a head of \(count) bytes")
                    return
                }
            }
            let reading = try (bytes + Array("GET".utf8)).withUnsafeBytes { try reader.read($0) }
            guard case .head(let head, bytes.count) = reading else {
                Issue.record("no head")
                return
            }
            try expect(read(text)?.path == head.path && head.headers["host"] != nil)
        }
    }

    @Test func `a head may be so large, and not a byte larger`() throws {
        let start = "GET / HTTP/1.1\r\nHost: h\r\nX: "
        let room = 200 - start.utf8.count - 4
        try expect(read(start + String(repeating: "x", count: room) + "\r\n\r\n", maxBytes: 200) != nil)
        for text in [
            start + String(repeating: "x", count: room + 1) + "\r\n\r\n", start + String(repeating: "x", count: 300),
            "GET /" + String(repeating: "x", count: 300),
        ] {
            #expect(throws: RequestFault.self) { try read(text, maxBytes: 200) }
            expect((try? read(text, maxBytes: 200)) == nil)
        }
        let fields = "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\n"
        try expect(read(fields + "\r\n", maxFields: 3) != nil)
        let error = #expect(throws: RequestFault.self) { try read(fields + "\r\n", maxFields: 2) }
        expect(error?.status, equals: 431)
    }

    @Test func `a target in absolute form names the host, and Host does not`() throws {
        let head = try #require(try read("GET HTTP://Example.org:80/p/../q?x HTTP/1.1\r\nHost: other\r\n\r\n"))
        expect(head.host == "Example.org:80" && head.path == "/p/../q" && head.query == "x")
        try expect(read("GET http://h?x HTTP/1.1\r\nHost: h\r\n\r\n")?.path, equals: "/")
    }

    @Test func `a length too large to be meant is a length`() throws {
        let text = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n"
        try expect(read(text)?.contentLength, equals: .max)
    }

    @Test(arguments: [
        ("HTTP/1.1", nil, true), ("HTTP/1.0", nil, false), ("HTTP/1.1", "close", false),
        ("HTTP/1.0", "keep-alive", true),
        ("HTTP/1.1", "Keep-Alive, CLOSE", false), ("HTTP/1.1", "x", true),
    ])
    func `whether a connection is kept`(version: String, connection: String?, keeps: Bool) throws {
        let header = connection.map { "Connection: \($0)\r\n" } ?? ""
        try expect(read("GET / \(version)\r\nHost: h\r\n\(header)\r\n")?.keepsAlive, equals: keeps)
    }
}
