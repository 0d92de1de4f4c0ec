import Glibc

/// Parses the head of an HTTP/1 request strictly (RFC 9112), as its bytes arrive: bytes in, a head or a fault out.
///
/// It rejects every deviation that RFC 9112 lets a server tolerate, since a proxy in front of the server may tolerate
/// other deviations. Lines end with CR LF, one space separates the words of the request line, a name is a token with a
/// colon directly after it, no line is folded, and fields that determine a request's end or its user occur once.
///
/// Each byte is visited a fixed number of times, in however many pieces it arrives. A fault is found when its line is
/// complete.
struct RequestHeadReader {
    enum Reading {
        /// The head has not ended.
        case incomplete
        /// The head, and its length in bytes.
        case head(RequestHead, length: Int)
    }

    /// More fields than most heads have.
    private static let usualFields = 16

    private let maxBytes: Int
    private let maxFields: Int
    /// The beginning of the incomplete line.
    private var lineStart = 0
    /// All line ends before this position have been found.
    private var scanned = 0
    private var line: RequestLine?
    private var fields: [HeaderFields.Field] = []

    /// - Parameter maxBytes: the limit for the whole head, at most 65,535.
    init(maxBytes: Int = 16 * 1024, maxFields: Int = 100) {
        precondition(maxBytes <= Int(UInt16.max), "offsets in a head have 16 bits")
        self.maxBytes = maxBytes
        self.maxFields = maxFields
    }

    /// Continues parsing.
    ///
    /// - Parameter bytes: all bytes since the head began, those of earlier calls included.
    mutating func read(_ bytes: UnsafeRawBufferPointer) throws(RequestFault) -> Reading {
        while let end = Self.lineEnd(bytes, from: scanned) {
            guard end < maxBytes else { throw .tooLarge("the head has more than \(maxBytes) bytes") }
            guard end > lineStart, bytes[end - 1] == carriageReturn else {
                throw .malformed("a line must end with CR LF")
            }
            let content = lineStart..<end - 1
            scanned = end + 1
            lineStart = end + 1
            if line == nil {
                // One empty line before a request is skipped (RFC 9112, 2.2).
                if content.isEmpty && content.lowerBound == 0 { continue }
                line = try RequestLine(bytes, content)
            } else if content.isEmpty {
                return .head(try head(bytes, length: end + 1), length: end + 1)
            } else {
                try field(bytes, content)
            }
        }
        scanned = bytes.count
        guard bytes.count < maxBytes else { throw .tooLarge("the head has more than \(maxBytes) bytes") }
        // Bytes that cannot become a request line are rejected without waiting for the line's end.
        if line == nil, bytes.count > lineStart, bytes[lineStart] != carriageReturn, !isTokenByte(bytes[lineStart]) {
            throw .malformed("the request line is malformed")
        }
        return .incomplete
    }

    private static func lineEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress else { return nil }
        guard let found = memchr(base + start, Int32(lineFeed), bytes.count - start) else { return nil }
        return UnsafeRawPointer(found) - base
    }

    private mutating func field(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(RequestFault) {
        guard fields.count < maxFields else { throw .tooLarge("the head has more than \(maxFields) fields") }
        var colon = line.lowerBound
        while colon < line.upperBound, isTokenByte(bytes[colon]) { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":") else {
            throw .malformed("a header is malformed: a name, followed by a colon, is needed")
        }
        var start = colon + 1
        var end = line.upperBound
        while start < end, isBlank(bytes[start]) { start += 1 }
        while end > start, isBlank(bytes[end - 1]) { end -= 1 }
        for index in start..<end where !isValueByte(bytes[index]) {
            throw .malformed("a header has a control character in its value")
        }
        if fields.isEmpty { fields.reserveCapacity(Self.usualFields) }
        fields.append(.init(bytes, name: line.lowerBound..<colon, value: start..<end))
    }

    // MARK: - The whole

    /// Fields that may occur once: of two, another server might use the second.
    private static let single = [
        "host", "content-length", "transfer-encoding", "authorization", "origin", "content-type", "expect",
        "sec-websocket-key", "sec-websocket-version",
    ]

    private func head(_ bytes: UnsafeRawBufferPointer, length: Int) throws(RequestFault) -> RequestHead {
        guard let line else { throw .malformed("the request line is missing") }
        let headers = HeaderFields(Array(bytes[..<length]), fields)
        for name in Self.single where headers.count(of: name) > 1 {
            throw .malformed("the header \(name) must come once only")
        }
        let host = headers["host"]
        guard host != nil || !line.isHTTP11 else { throw .malformed("the header Host is missing") }
        guard host?.utf8.allSatisfy(isHostByte) ?? true else { throw .malformed("the header Host is malformed") }
        let (authority, path, query) = try Self.split(bytes, line)
        return RequestHead(
            method: text(bytes, line.method), path: path, query: query, isHTTP11: line.isHTTP11, headers: headers,
            authority: authority, contentLength: try contentLength(headers),
            isChunked: try isChunked(headers, line))
    }

    /// Chunked is the only supported transfer coding: with any other, the end of the body would be unknown.
    private func isChunked(_ headers: HeaderFields, _ line: RequestLine) throws(RequestFault) -> Bool {
        guard let coding = headers["transfer-encoding"] else { return false }
        guard line.isHTTP11 else { throw .malformed("HTTP/1.0 has no Transfer-Encoding") }
        guard coding.lowercased() == "chunked" else {
            throw .malformed("a body's length must be told, as a number, in Content-Length, or by chunks")
        }
        return true
    }

    /// - Returns: `.max` for a number that is larger than any plausible one.
    private func contentLength(_ headers: HeaderFields) throws(RequestFault) -> Int? {
        guard let text = headers["content-length"] else { return nil }
        guard headers.count(of: "transfer-encoding") == 0 else {
            throw .malformed("a body's length must be told in one way only")
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }) else {
            throw .malformed("a body's length must be told, as a number, in Content-Length")
        }
        return Int(text) ?? .max
    }

    /// The parts of a target: `/path?query`, `http://authority/path?query`, `*`, or, for CONNECT, `host:port`.
    private static func split(
        _ bytes: UnsafeRawBufferPointer, _ line: RequestLine
    ) throws(RequestFault) -> (authority: String?, path: String, query: String) {
        let target = line.target
        let isConnect = text(bytes, line.method) == "CONNECT"
        var start = target.lowerBound
        var authority: String?
        if isConnect || target.count == 1 && bytes[start] == UInt8(ascii: "*") {
            return (nil, text(bytes, target), "")
        }
        if bytes[start] != UInt8(ascii: "/") {
            let scheme = ["http://", "https://"].first { scheme in
                target.count > scheme.utf8.count
                    && zip(bytes[target], scheme.utf8).allSatisfy { (65...90 ~= $0 ? $0 | 0x20 : $0) == $1 }
            }
            guard let scheme else { throw .malformed("the request's target must be a path or a URL") }
            start += scheme.utf8.count
            let host = start
            while start < target.upperBound, !"/?".utf8.contains(bytes[start]) { start += 1 }
            guard start > host, bytes[host..<start].allSatisfy(isHostByte) else {
                throw .malformed("the request's target names no host")
            }
            authority = text(bytes, host..<start)
        }
        let query = bytes[start..<target.upperBound].firstIndex(of: UInt8(ascii: "?"))
        let path = text(bytes, start..<(query ?? target.upperBound))
        return (
            authority, path.isEmpty ? "/" : path, query.map { text(bytes, $0 + 1..<target.upperBound) } ?? ""
        )
    }
}

/// `METHOD SP TARGET SP HTTP/1.x`, as positions in the bytes of the head.
private struct RequestLine {
    let method: Range<Int>
    let target: Range<Int>
    let isHTTP11: Bool

    init(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(RequestFault) {
        var index = line.lowerBound
        while index < line.upperBound, isTokenByte(bytes[index]) { index += 1 }
        method = line.lowerBound..<index
        guard !method.isEmpty, index < line.upperBound, bytes[index] == space else {
            throw .malformed("the request line is malformed")
        }
        let start = index + 1
        index = start
        while index < line.upperBound, isTargetByte(bytes[index]) { index += 1 }
        target = start..<index
        guard !target.isEmpty, index < line.upperBound, bytes[index] == space else {
            throw .malformed("the request line is malformed")
        }
        let version = bytes[index + 1..<line.upperBound]
        guard version.count == 8, version.prefix(7).elementsEqual("HTTP/1.".utf8),
            let minor = version.last, minor == UInt8(ascii: "0") || minor == UInt8(ascii: "1")
        else { throw .malformed("only HTTP/1.1 and HTTP/1.0 are spoken here") }
        isHTTP11 = minor == UInt8(ascii: "1")
    }
}

private let carriageReturn = UInt8(ascii: "\r")
private let lineFeed = UInt8(ascii: "\n")
private let space = UInt8(ascii: " ")

private func text(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String {
    String(decoding: bytes[range], as: UTF8.self)
}

private func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == 0x09 }

/// The bytes of a token (RFC 9110, 5.6.2), of which methods and header names consist.
func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
        UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
        true
    default: false
    }
}

/// A target is printable ASCII, and has no fragment.
private func isTargetByte(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte && byte != UInt8(ascii: "#") }

/// A value may contain all bytes except control characters (RFC 9110, 5.5).
private func isValueByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

/// The bytes of a host and its port (RFC 3986, 3.2.2): no blank, and no byte that would end it.
private func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\\"),
        UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: ","), UInt8(ascii: "^"),
        UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
        false
    default: 0x21...0x7E ~= byte
    }
}
