/// Reads the frames of a client (RFC 6455, section 5): a state machine over bytes, which may arrive in any pieces.
///
/// It copies nothing. A payload is unmasked in place, and reported piece by piece: the part that is in the given bytes
/// is one piece. The owner of the reader joins the pieces of a message.
///
/// After a `fault` it reads nothing more. After a message that is rejected (binary, or too long) it continues, so that
/// it finds the peer's close frame.
struct FrameReader {
    enum Event: Equatable {
        /// All bytes are consumed.
        case needsMore
        /// A piece of a text message, as the range of its bytes. Only an empty message consists of a single empty last
        /// piece.
        case text(Range<Int>, isLast: Bool)
        /// A piece of a control frame's payload.
        case control(Control, Range<Int>, isLast: Bool)
        /// A message that is rejected has begun. Its pieces follow as `text`, to be discarded.
        case refused(Refusal)
        /// The peer violated the protocol: the connection must be closed with 1002.
        case fault(Fault)
    }

    enum Control: UInt8 {
        case close = 8
        case ping
        case pong
    }

    enum Refusal: Equatable {
        case binary
        /// The header of a frame announces more bytes than a message may have.
        case tooLong
    }

    /// The violation of the protocol; the value is the reason sent to the peer.
    enum Fault: String {
        case reservedBits = "a reserved bit is set"
        case opcode = "unknown opcode"
        case fragmentedControl = "a control frame in fragments"
        case longControl = "a control frame has at most 125 bytes"
        case nothingToContinue = "a continuation of nothing"
        case unfinished = "a message within another"
        case notMasked = "a client's frames are masked"
        case length = "a length is in its shortest form"
    }

    /// The meaning of the next byte.
    private enum Stage: UInt8 {
        case first, second, length, mask, payload, faulty
    }

    private var stage = Stage.first
    /// The number of missing bytes of the length or of the mask.
    private var missing: UInt8 = 0
    /// The first byte of the frame: FIN and opcode.
    private var first: UInt8 = 0
    private var isInMessage = false
    /// Whether the length has eight bytes, not two.
    private var isLong = false
    /// The mask in the order of its bytes in memory, rotated so that its first byte is for the next byte of the
    /// payload.
    private var mask: UInt32 = 0
    /// The length of the payload as read so far; inside the payload, the number of missing bytes.
    private var left = 0
    /// The bytes of the message that its frames have announced so far.
    private var announced = 0

    private var isFinal: Bool { first & 0x80 != 0 }
    private var opcode: UInt8 { first & 0x0F }

    /// The number of missing bytes of the current frame's payload.
    var payloadLeft: Int { stage == .payload ? left : 0 }

    /// Makes the reader stop, as after a fault.
    mutating func stop() { stage = .faulty }

    /// Returns the next event in `bytes` from `place` on, and moves `place` behind the event.
    ///
    /// - Parameter limit: the most bytes of a message.
    mutating func next(in bytes: UnsafeMutableRawBufferPointer, at place: inout Int, limit: Int) -> Event {
        while place < bytes.count {
            if stage == .payload { return parsePayload(in: bytes, at: &place) }
            if stage == .faulty {
                place = bytes.count
                break
            }
            let byte = bytes[place]
            place += 1
            if let fault = parseHeader(byte) {
                stage = .faulty
                return .fault(fault)
            }
            guard stage == .mask, missing == 4 || missing == 0 else { continue }
            // The length is known, so it is checked immediately, before the mask and the payload have arrived.
            if missing == 4, opcode < Control.close.rawValue, let refusal = beginPayload(limit: limit) {
                return .refused(refusal)
            }
            guard missing == 0 else { continue }
            stage = .payload
            // Reports an empty payload even if these were the last bytes.
            if left == 0 { return parsePayload(in: bytes, at: &place) }
        }
        return .needsMore
    }

    // MARK: - Headers

    private mutating func parseHeader(_ byte: UInt8) -> Fault? {
        switch stage {
        case .first:
            first = byte
            stage = .second
            return checkFirst()
        case .second:
            return parseSecond(byte)
        case .length:
            guard left >> 55 == 0 else { return .length }
            left = left << 8 | Int(byte)
            missing -= 1
            return missing == 0 ? lengthIsWhole() : nil
        case .mask:
            mask |= UInt32(byte) << (8 * (4 - UInt32(missing)))
            missing -= 1
            return nil
        case .payload, .faulty:
            return nil
        }
    }

    private func checkFirst() -> Fault? {
        if first & 0x70 != 0 { return .reservedBits }
        switch opcode {
        case 0: return isInMessage ? nil : .nothingToContinue
        case 1, 2: return isInMessage ? .unfinished : nil
        case 8, 9, 10: return isFinal ? nil : .fragmentedControl
        default: return .opcode
        }
    }

    private mutating func parseSecond(_ byte: UInt8) -> Fault? {
        let length = byte & 0x7F
        if opcode >= Control.close.rawValue, length > 125 { return .longControl }
        if byte & 0x80 == 0 { return .notMasked }
        left = 0
        switch length {
        case 126: (stage, missing) = (.length, 2)
        case 127: (stage, missing) = (.length, 8)
        default:
            left = Int(length)
            awaitMask()
        }
        isLong = length == 127
        return nil
    }

    private mutating func lengthIsWhole() -> Fault? {
        guard left > (isLong ? 0xFFFF : 125) else { return .length }
        awaitMask()
        return nil
    }

    private mutating func awaitMask() {
        stage = .mask
        missing = 4
        mask = 0
    }

    /// Begins the payload of a message's frame.
    private mutating func beginPayload(limit: Int) -> Refusal? {
        if opcode != 0 {
            announced = 0
            isInMessage = true
        }
        if opcode == 2 { return .binary }
        guard left <= limit - announced else { return .tooLong }
        announced += left
        return nil
    }

    // MARK: - Payloads

    private mutating func parsePayload(in bytes: UnsafeMutableRawBufferPointer, at place: inout Int) -> Event {
        let piece = place..<place + min(left, bytes.count - place)
        Self.unmask(UnsafeMutableRawBufferPointer(rebasing: bytes[piece]), mask)
        place = piece.upperBound
        left -= piece.count
        let turn = UInt32(piece.count & 3) * 8
        if turn > 0 { mask = mask >> turn | mask << (32 - turn) }
        let isWhole = left == 0
        if isWhole { stage = .first }
        if let control = Control(rawValue: opcode) { return .control(control, piece, isLast: isWhole) }
        let isLast = isWhole && isFinal
        if isLast { isInMessage = false }
        return .text(piece, isLast: isLast)
    }

    /// Unmasks eight bytes at a time, which the optimiser vectorises.
    ///
    /// - Parameter mask: its first byte in memory is for the first byte of `bytes`.
    static func unmask(_ bytes: UnsafeMutableRawBufferPointer, _ mask: UInt32) {
        guard mask != 0, let start = bytes.baseAddress else { return }
        let wide = UInt64(mask) << 32 | UInt64(mask)
        let words = bytes.count / 8
        for word in 0..<words {
            let place = start + word &* 8
            // Unsafe: the words lie within `bytes`.
            place.storeBytes(of: place.loadUnaligned(as: UInt64.self) ^ wide, as: UInt64.self)
        }
        for place in words * 8..<bytes.count { bytes[place] ^= UInt8(truncatingIfNeeded: wide >> (8 * (place & 7))) }
    }
}
