/// One WebSocket frame (RFC 6455, section 5.2) as a client sends it: masked.
///
///     |F|RSV|opcode|  |1| length 7   |  16 or 64 bits of length, if the 7 say 126 or 127  |  32 bits of mask
struct ClientFrame {
    var opcode: FrameHeader.Opcode
    /// The range of its payload, unmasked, in the parsed bytes.
    var payload: Range<Int>

    enum Parsed {
        case incomplete
        /// A violation of the protocol, or a frame that is fragmented or too long for the baseline.
        case violation
        case frame(ClientFrame)
    }

    /// Parses the frame that begins at `start` and unmasks it in place, if it is complete.
    static func parse(_ bytes: UnsafeMutableRawBufferPointer, from start: Int) -> Parsed {
        guard bytes.count - start >= 2 else { return .incomplete }
        guard bytes[start] & 0xF0 == 0x80, bytes[start + 1] & 0x80 != 0,
            let opcode = FrameHeader.Opcode(rawValue: bytes[start] & 0x0F)
        else { return .violation }
        var length = Int(bytes[start + 1] & 0x7F)
        var head = 2
        if length >= 126 {
            head = length == 126 ? 4 : 10
            guard bytes.count - start >= head else { return .incomplete }
            guard head == 4 || bytes[start + 2] == 0 else { return .violation }
            length = bytes[start + 2..<start + head].reduce(0) { $0 << 8 | Int($1) }
        }
        guard length <= FrameHeader.longestPayload else { return .violation }
        let payload = start + head + 4..<start + head + 4 + length
        guard bytes.count >= payload.upperBound else { return .incomplete }
        for index in payload { bytes[index] ^= bytes[payload.lowerBound - 4 + (index - payload.lowerBound) & 3] }
        return .frame(ClientFrame(opcode: opcode, payload: payload))
    }
}
