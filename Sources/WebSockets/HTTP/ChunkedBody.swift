/// Parses a body in chunks (RFC 9112, 7.1), as strictly as `RequestHeadReader` reads heads, for the same reason: bytes
/// in, the body's bytes and its end out.
///
/// The overhead between the body's bytes is limited to a share of the body, so a body of many small chunks is rejected.
/// Extensions of chunks and trailer fields are read and ignored.
struct ChunkedBody {
    private enum State {
        /// In a size, of which `digits` have arrived.
        case size(digits: Int)
        /// After the semicolon.
        case extensions
        case sizeEnd
        case data
        case dataEnd(hasReturn: Bool)
        /// In a line after the last chunk, of which `length` bytes have arrived.
        case trailer(length: Int)
        case trailerEnd(isEmpty: Bool)
        case ended
    }

    private var state = State.size(digits: 0)
    /// The number of missing bytes of the current chunk.
    private var missing = 0
    /// Bytes of the body so far, and of the overhead.
    private var total = 0
    private var framing = 0
    private let most: Int

    /// The most digits of a size that fits a body.
    private static let mostDigits = 8
    private static let freeFraming = 4_096

    /// - Parameter most: the most bytes of the body.
    init(most: Int) { self.most = most }

    var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Continues, up to the body's end.
    ///
    /// - Parameter take: gets each piece of the body; valid during the call.
    /// - Returns: How many of the bytes belong to this body, overhead included.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, take: (UnsafeRawBufferPointer) -> Void
    ) throws(RequestFault) -> Int {
        var index = 0
        while index < bytes.count, !hasEnded {
            if case .data = state {
                let count = min(missing, bytes.count - index)
                take(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
                missing -= count
                index += count
                if missing == 0 { state = .dataEnd(hasReturn: false) }
                continue
            }
            framing += 1
            guard framing <= Self.freeFraming + 8 * total else { throw Self.malformed }
            try step(bytes[index])
            index += 1
        }
        return index
    }

    private static let malformed = RequestFault.malformed("the body's chunks are malformed")

    private mutating func step(_ byte: UInt8) throws(RequestFault) {
        switch (state, byte) {
        case (.size(let digits), _) where Self.value(byte) != nil:
            guard digits < Self.mostDigits else { throw Self.malformed }
            missing = missing * 16 + (Self.value(byte) ?? 0)
            state = .size(digits: digits + 1)
        case (.size(let digits), UInt8(ascii: ";")) where digits > 0: state = .extensions
        case (.size(let digits), UInt8(ascii: "\r")) where digits > 0: state = .sizeEnd
        case (.extensions, UInt8(ascii: "\r")): state = .sizeEnd
        case (.extensions, _) where Self.isText(byte): break
        case (.sizeEnd, UInt8(ascii: "\n")): try begin()
        case (.dataEnd(hasReturn: false), UInt8(ascii: "\r")): state = .dataEnd(hasReturn: true)
        case (.dataEnd(hasReturn: true), UInt8(ascii: "\n")): state = .size(digits: 0)
        case (.trailer(let length), UInt8(ascii: "\r")): state = .trailerEnd(isEmpty: length == 0)
        case (.trailer(let length), _) where Self.isText(byte): state = .trailer(length: length + 1)
        case (.trailerEnd(let isEmpty), UInt8(ascii: "\n")): state = isEmpty ? .ended : .trailer(length: 0)
        default: throw Self.malformed
        }
    }

    private mutating func begin() throws(RequestFault) {
        guard missing > 0 else { return state = .trailer(length: 0) }
        total += missing
        guard total <= most else { throw RequestFault(status: 413, reason: "a body has at most \(most) bytes") }
        state = .data
    }

    private static func value(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte | 0x20) - 0x57
        default: nil
        }
    }

    private static func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }
}
