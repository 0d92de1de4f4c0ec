import TerminalClients

/// Decodes the bytes from a terminal into keys, even if a sequence arrives in parts.
///
/// ```text
///   ESC [ digits… final   ESC O final   anything else by itself
/// ```
struct KeyDecoder: Sendable {
    /// The beginning of an incomplete sequence.
    private var pending: [UInt8] = []

    /// The longest sequence; none in use is longer.
    private static let longest = 16
    private static let escape: UInt8 = 0x1B

    mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        bytes.compactMap { decode($0) }
    }

    private mutating func decode(_ byte: UInt8) -> Key? {
        switch pending.count {
        case 0 where byte == Self.escape:
            pending = [byte]
            return nil
        case 0: return Self.single(byte)
        case 1:
            if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") {
                pending.append(byte)
                return nil
            }
            // The escape key itself, followed by another sequence.
            if byte == Self.escape { return .other }
            pending = []
            return Self.single(byte)
        default:
            pending.append(byte)
            // Parameters come before the final byte, which identifies the key.
            guard (0x40...0x7E).contains(byte) || pending.count >= Self.longest else { return nil }
            defer { pending = [] }
            return Self.meaning(NavigationKey(pending[2..<(pending.count - 1)], byte))
        }
    }

    private static func single(_ byte: UInt8) -> Key {
        switch byte {
        case UInt8(ascii: "k"), 0x10: .up
        case UInt8(ascii: "j"), 0x0E, 0x0D, 0x0A: .down
        case UInt8(ascii: "b"), 0x02: .pageUp
        case UInt8(ascii: " "), UInt8(ascii: "f"), 0x06: .pageDown
        case UInt8(ascii: "g"): .home
        case UInt8(ascii: "G"): .end
        case UInt8(ascii: "q"), UInt8(ascii: "Q"), 0x03: .quit
        case 0x0C: .redraw
        default: .other
        }
    }

    private static func meaning(_ key: NavigationKey?) -> Key {
        switch key {
        case .up: .up
        case .down: .down
        case .home: .home
        case .end: .end
        case .pageUp: .pageUp
        case .pageDown: .pageDown
        case .right, .left, .delete, nil: .other
        }
    }
}
