/// The head of one WebSocket frame (RFC 6455, section 5.2) as a server sends it: never masked.
///
///     0               1               2               3
///     |F|RSV|opcode|  |M| length 7   |  16 or 64 bits of length, if the 7 say 126 or 127
struct FrameHeader: Equatable {
    enum Opcode: UInt8 {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
        case close = 0x8
        case ping = 0x9
        case pong = 0xA

        var isControl: Bool { rawValue & 0x8 != 0 }
    }

    var isFinal: Bool
    var opcode: Opcode
    /// The length of the head itself.
    var length: Int
    var payloadLength: Int

    /// Longer messages are a fault of the server: it promises none over 256 KiB unless configured otherwise.
    static let longestPayload = 1 << 20
}

extension FrameHeader {
    enum Parsed: Equatable {
        /// More bytes are needed.
        case incomplete
        /// The peer violated the WebSocket protocol.
        case violation(String)
        case header(FrameHeader)
    }

    /// Parses the head of the frame at the beginning of `bytes`.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> Parsed {
        guard bytes.count >= 2 else { return .incomplete }
        let first = bytes[0]
        let second = bytes[1]
        guard first & 0x70 == 0 else { return .violation("a frame with reserved bits set") }
        guard second & 0x80 == 0 else { return .violation("a masked frame from the server") }
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            return .violation("a frame with the unknown opcode \(first & 0x0F)")
        }
        let isFinal = first & 0x80 != 0
        var length = 2
        var payloadLength = Int(second & 0x7F)
        if opcode.isControl, !isFinal || payloadLength > 125 {
            return .violation("a control frame that is fragmented or too long")
        }
        if payloadLength >= 126 {
            let extra = payloadLength == 126 ? 2 : 8
            guard bytes.count >= 2 + extra else { return .incomplete }
            guard extra == 2 || bytes[2] & 0x80 == 0 else { return .violation("a frame of negative length") }
            payloadLength = bytes[2..<2 + extra].reduce(0) { $0 << 8 | Int($1) }
            length += extra
        }
        guard payloadLength <= longestPayload else { return .violation("a frame of \(payloadLength) bytes") }
        return .header(
            FrameHeader(isFinal: isFinal, opcode: opcode, length: length, payloadLength: payloadLength))
    }
}

/// Writes the masked frames that a client must send.
struct FrameWriter {
    /// The state of a xorshift generator. Masks protect proxies from pages in browsers; here they need only be valid.
    private var random: UInt64

    init(seed: UInt64 = .random(in: 1...UInt64.max)) { random = max(seed, 1) }

    /// Appends one final frame with `payload` to `output`.
    mutating func append(_ opcode: FrameHeader.Opcode, _ payload: some Collection<UInt8>, to output: inout [UInt8]) {
        let count = payload.count
        output.reserveCapacity(output.count + count + 14)
        output.append(0x80 | opcode.rawValue)
        switch count {
        case ..<126:
            output.append(0x80 | UInt8(count))
        case ..<65_536:
            output.append(0x80 | 126)
            output.append(UInt8(count >> 8))
            output.append(UInt8(count & 0xFF))
        default:
            output.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) { output.append(UInt8(count >> shift & 0xFF)) }
        }
        let mask = nextMask()
        for shift in [24, 16, 8, 0] as [UInt32] { output.append(UInt8(truncatingIfNeeded: mask >> shift)) }
        var shift: UInt32 = 24
        for byte in payload {
            output.append(byte ^ UInt8(truncatingIfNeeded: mask >> shift))
            shift = (shift &- 8) & 31
        }
    }

    private mutating func nextMask() -> UInt32 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return UInt32(truncatingIfNeeded: random >> 16)
    }
}
