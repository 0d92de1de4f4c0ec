/// One WebSocket frame (RFC 6455, section 5.2) as a client sends it: masked.
///
///     |F|RSV|opcode|  |1| length 7   |  16 or 64 bits of length, if the 7 say 126 or 127  |  32 bits of mask
struct ClientFrame {
    var opcode: FrameHeader.Opcode
    /// Where its payload is, unmasked, in the bytes that were parsed.
    var payload: Range<Int>

    enum Parsed {
        case incomplete
        /// Against the rules, or fragmented or longer than what the baseline takes.
        case violation
        case frame(ClientFrame)
    }

    /// Reads the frame that begins at `start` and unmasks it in place, once it is whole.
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
