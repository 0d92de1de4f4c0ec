import Glibc

/// Recognises a message that another watcher received byte for byte, and returns its change without parsing it.
///
/// A hit costs a hash, four words at a time, and one comparison of all bytes. It returns the change itself and not a
/// decoded message, so no references are counted.
struct ChangeCache {
    /// The result for a message without meaning to any scenario.
    static let nothing = NumberedChange(changer: -1, number: 0)

    private struct Head {
        var hash: UInt64
        var length: Int
        var change: NumberedChange
    }

    private var heads: [Head]
    /// `longest` bytes for each head.
    private var bytes: [UInt8]

    /// A power of two, many times the number of different messages in flight, so that two rarely share a place.
    private static let places = 4_096
    private static let longest = 512

    init() {
        heads = Array(repeating: Head(hash: 0, length: -1, change: Self.nothing), count: Self.places)
        bytes = Array(repeating: 0, count: Self.places * Self.longest)
    }

    /// The change of these bytes, if they are known.
    func find(_ message: UnsafeRawBufferPointer) -> NumberedChange? {
        let hash = Self.hash(message)
        let place = Int(truncatingIfNeeded: hash) & (Self.places - 1)
        let head = heads[place]
        guard head.hash == hash, head.length == message.count else { return nil }
        let isSame = bytes.withUnsafeBytes {
            memcmp($0.baseAddress! + place * Self.longest, message.baseAddress!, message.count) == 0
        }
        return isSame ? head.change : nil
    }

    /// Stores the change of a message that `find` did not know.
    mutating func remember(_ message: UnsafeRawBufferPointer, as change: NumberedChange) {
        guard (1...Self.longest).contains(message.count) else { return }
        let hash = Self.hash(message)
        let place = Int(truncatingIfNeeded: hash) & (Self.places - 1)
        heads[place] = Head(hash: hash, length: message.count, change: change)
        bytes.withUnsafeMutableBytes {
            UnsafeMutableRawBufferPointer(rebasing: $0[(place * Self.longest)...]).copyMemory(from: message)
        }
    }

    private static let prime: UInt64 = 0x9E37_79B9_7F4A_7C15

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        guard bytes.count >= 8 else { return bytes.reduce(UInt64(bytes.count)) { ($0 ^ UInt64($1)) &* prime } }
        // Four independent sums; the last word overlaps the one before it.
        var sums: (UInt64, UInt64, UInt64, UInt64) = (UInt64(bytes.count), 1, 2, 3)
        var offset = 0
        while offset + 32 <= bytes.count {
            sums.0 = (sums.0 ^ word(offset)) &* prime
            sums.1 = (sums.1 ^ word(offset + 8)) &* prime
            sums.2 = (sums.2 ^ word(offset + 16)) &* prime
            sums.3 = (sums.3 ^ word(offset + 24)) &* prime
            sums.0 ^= sums.0 >> 29
            sums.1 ^= sums.1 >> 29
            sums.2 ^= sums.2 >> 29
            sums.3 ^= sums.3 >> 29
            offset += 32
        }
        while offset + 8 <= bytes.count {
            sums.0 = (sums.0 ^ word(offset)) &* prime
            sums.0 ^= sums.0 >> 29
            offset += 8
        }
        sums.1 = (sums.1 ^ word(bytes.count - 8)) &* prime
        var hash = (sums.0 ^ sums.1 >> 7) &* prime ^ (sums.2 ^ sums.3 >> 7) &* 0xD6E8_FEB8_6659_FD93
        hash ^= hash >> 32
        return hash &* prime >> 16
    }
}
