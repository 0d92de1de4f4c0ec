/// Reads an answer of HTTP/1.1 from bytes that come in pieces (RFC 9112).
///
/// Headers other than those that delimit the answer are ignored.
struct AnswerReader {
    enum Progress { case more, whole, broken, tooLarge }

    private enum Part {
        case head
        case body(left: Int)
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case trailers
        /// The body lasts as long as the connection.
        case rest
    }

    private(set) var status = 0
    private(set) var body: [UInt8] = []
    /// Whether the server keeps the connection.
    private(set) var isKept = true

    private let most: Int
    private var part = Part.head
    /// Bytes of the head, of a chunk's size or of trailers that are not read yet.
    private var line: [UInt8] = []
    /// Bytes of all lines of the answer.
    private var lineBytes = 0
    private var head = Head()

    private static let mostLineBytes = 65_536

    /// - Parameter most: Bytes of a body.
    init(most: Int) { self.most = most }

    /// The fields that delimit an answer.
    private struct Head {
        var length: Int?
        var isChunked = false
        var isFirstLine = true
    }

    /// - Returns: `whole` once the answer is complete: bytes after it are no part of it, and the connection must not be used
    ///   any more.
    mutating func read(_ bytes: UnsafeRawBufferPointer) -> Progress {
        var at = 0
        while at < bytes.count {
            let progress: Progress
            switch part {
            case .body(let left): (progress, at) = take(bytes, at, left) { $0 == 0 ? nil : .body(left: $0) }
            case .chunk(let left): (progress, at) = take(bytes, at, left) { $0 == 0 ? .chunkEnd : .chunk(left: $0) }
            case .rest: (progress, at) = take(bytes, at, .max) { _ in .rest }
            case .head, .chunkSize, .chunkEnd, .trailers:
                let byte = bytes[at]
                at += 1
                lineBytes += 1
                guard lineBytes <= Self.mostLineBytes else { return .tooLarge }
                line.append(byte)
                guard byte == 0x0A else { continue }
                // Some servers leave out the CR.
                line.removeLast()
                if line.last == 0x0D { line.removeLast() }
                progress = readLine()
                line.removeAll(keepingCapacity: true)
            }
            guard progress == .more else {
                if at < bytes.count { isKept = false }
                return progress
            }
        }
        return .more
    }

    /// The connection has ended.
    var end: Progress {
        if case .rest = part { .whole } else { .broken }
    }

    /// Takes what there is of a part of the body.
    ///
    /// - Parameter next: The part after it, by the bytes that are left of it; `nil` if the answer is whole.
    private mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ at: Int, _ left: Int, _ next: (Int) -> Part?
    ) -> (Progress, Int) {
        let count = min(left, bytes.count - at)
        guard body.count + count <= most else { return (.tooLarge, at) }
        body += bytes[at..<at + count]
        guard let next = next(left - count) else { return (.whole, at + count) }
        part = next
        return (.more, at + count)
    }

    private mutating func readLine() -> Progress {
        switch part {
        case .head where head.isFirstLine: readStatus()
        case .head where !line.isEmpty: readField()
        case .head: endHead()
        case .chunkSize: readChunkSize()
        case .chunkEnd: line.isEmpty ? go(to: .chunkSize) : .broken
        case .trailers: line.isEmpty ? .whole : .more
        default: .broken
        }
    }

    private mutating func go(to next: Part) -> Progress {
        part = next
        return .more
    }

    /// `HTTP/1.1 200 …`
    private mutating func readStatus() -> Progress {
        let version = line.prefix(8)
        guard version.elementsEqual("HTTP/1.1".utf8) || version.elementsEqual("HTTP/1.0".utf8), line.count >= 12,
            line[8] == 0x20, line.count == 12 || line[12] == 0x20, let status = Self.number(line[9..<12], base: 10),
            (100...599).contains(status), status != 101
        else { return .broken }
        self.status = status
        isKept = line[7] == UInt8(ascii: "1")
        head.isFirstLine = false
        return .more
    }

    private mutating func readField() -> Progress {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return .broken }
        let name = Self.lowercased(line[..<colon])
        let value = Self.trimmed(line[(colon + 1)...])
        switch name {
        case "content-length":
            guard let length = Self.number(value, base: 10), head.length == nil || head.length == length else {
                return .broken
            }
            head.length = length
        case "transfer-encoding":
            guard Self.lowercased(value) == "chunked", !head.isChunked else { return .broken }
            head.isChunked = true
        case "connection":
            let options = Self.lowercased(value).split(separator: ",").map { $0.drop { $0 == " " } }
            if options.contains(where: { $0.hasPrefix("close") }) { isKept = false }
        default: break
        }
        return .more
    }

    private mutating func endHead() -> Progress {
        defer { head = Head() }
        // An interim answer, such as 103.
        if status < 200 { return go(to: .head) }
        if status == 204 || status == 304 { return .whole }
        if head.isChunked {
            // Both would be a way to smuggle an answer (RFC 9112, 6.3).
            return head.length == nil ? go(to: .chunkSize) : .broken
        }
        guard let length = head.length else {
            isKept = false
            return go(to: .rest)
        }
        guard length <= most else { return .tooLarge }
        return length == 0 ? .whole : go(to: .body(left: length))
    }

    private mutating func readChunkSize() -> Progress {
        let digits = Self.trimmed(line.prefix { $0 != UInt8(ascii: ";") })
        guard let size = Self.number(digits, base: 16) else { return .broken }
        guard size <= most - body.count else { return .tooLarge }
        return go(to: size == 0 ? .trailers : .chunk(left: size))
    }

    /// Digits only, and at most twelve of them.
    private static func number(_ digits: ArraySlice<UInt8>, base: Int) -> Int? {
        guard (1...12).contains(digits.count) else { return nil }
        var number = 0
        for digit in digits {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue, value < base else { return nil }
            number = number * base + value
        }
        return number
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
