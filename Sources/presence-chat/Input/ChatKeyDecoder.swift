import TerminalClients

/// Decodes the bytes from a terminal into keys, even if a sequence arrives in parts.
///
/// ```text
///   ESC [ digits… final   ESC O final   a character in UTF-8   a control character
/// ```
struct ChatKeyDecoder: Sendable {
    /// The beginning of an incomplete sequence or character.
    private var pending: [UInt8] = []

    /// The longest sequence; none in use is longer.
    private static let longest = 16
    private static let escape: UInt8 = 0x1B

    /// - Parameter bytes: the bytes that arrived together. A terminal sends a sequence at once, so an escape at the end
    ///   is the key.
    mutating func decode(_ bytes: some Sequence<UInt8>) -> [ChatKey] {
        var keys = bytes.compactMap { decode($0) }
        if pending == [Self.escape] {
            pending = []
            keys.append(.escape)
        }
        return Self.joined(keys)
    }

    /// Joins characters that were typed or pasted at once into one text.
    private static func joined(_ keys: [ChatKey]) -> [ChatKey] {
        keys.reduce(into: []) { joined, key in
            if case .text(let text) = key, case .text(let before)? = joined.last {
                joined[joined.count - 1] = .text(before + text)
            } else {
                joined.append(key)
            }
        }
    }

    private mutating func decode(_ byte: UInt8) -> ChatKey? {
        if pending.isEmpty {
            if byte == Self.escape || byte >= 0xC2 {
                pending = [byte]
                return nil
            }
            return Self.single(byte)
        }
        if pending[0] != Self.escape { return decodeCharacter(byte) }
        return decodeSequence(byte)
    }

    private mutating func decodeCharacter(_ byte: UInt8) -> ChatKey? {
        guard (0x80...0xBF).contains(byte) else {
            // The character is incomplete, and this byte begins something else.
            pending = []
            return decode(byte)
        }
        pending.append(byte)
        let length = pending[0] >= 0xF0 ? 4 : pending[0] >= 0xE0 ? 3 : 2
        guard pending.count == length else { return nil }
        defer { pending = [] }
        return String(validating: pending, as: UTF8.self).map(ChatKey.text) ?? .other
    }

    private mutating func decodeSequence(_ byte: UInt8) -> ChatKey? {
        if pending.count == 1 {
            if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") {
                pending.append(byte)
                return nil
            }
            // The escape key followed by another byte: Alt, which has no meaning here.
            pending = []
            return .other
        }
        pending.append(byte)
        guard (0x40...0x7E).contains(byte) || pending.count >= Self.longest else { return nil }
        defer { pending = [] }
        return Self.meaning(NavigationKey(pending[2..<(pending.count - 1)], byte))
    }

    private static func single(_ byte: UInt8) -> ChatKey {
        switch byte {
        case 0x0D, 0x0A: .enter
        case 0x7F, 0x08: .backspace
        case 0x01: .home
        case 0x05: .end
        case 0x02: .left
        case 0x06: .right
        case 0x10: .up
        case 0x04: .endOfInput
        case 0x0C: .redraw
        case 0x15: .deleteLine
        case 0x17: .deleteWord
        case 0x20...0x7E: .text(String(Unicode.Scalar(byte)))
        default: .other
        }
    }

    private static func meaning(_ key: NavigationKey?) -> ChatKey {
        switch key {
        case .up: .up
        case .right: .right
        case .left: .left
        case .home: .home
        case .end: .end
        case .delete: .delete
        case .pageUp: .pageUp
        case .pageDown: .pageDown
        case .down, nil: .other
        }
    }
}
