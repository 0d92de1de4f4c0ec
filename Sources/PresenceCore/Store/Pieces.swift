/// Iterates over the parts between separators in a script's reply. Some replies are parsed often: a message's, for
/// example, on every server to which a participant is connected. So this allocates no arrays. Inlined into the other
/// module too, since a call for each word would add a tenth to the cost of a pushed event.
@frozen package struct Pieces {
    /// The rest; `nil` after the last part.
    package var rest: ArraySlice<UInt8>?
    @usableFromInline let separator: UInt8

    @inlinable @inline(__always) package init(_ bytes: ArraySlice<UInt8>, separator: UInt8) {
        (rest, self.separator) = (bytes, separator)
    }

    @inlinable @inline(__always) package mutating func next() -> ArraySlice<UInt8>? {
        guard let rest else { return nil }
        guard let end = rest.firstIndex(of: separator) else {
            self.rest = nil
            return rest
        }
        self.rest = rest[(end + 1)...]
        return rest[..<end]
    }

    @inlinable @inline(__always) package mutating func text() -> String? {
        guard let word = next(), !word.isEmpty else { return nil }
        return String(decoding: word, as: UTF8.self)
    }

    /// Digits only, and at most 18 of them; `nil` for anything else.
    @inlinable @inline(__always) package mutating func number() -> Int64? {
        guard let word = next(), !word.isEmpty, word.count <= 18 else { return nil }
        var value: Int64 = 0
        for byte in word {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        return value
    }
}
