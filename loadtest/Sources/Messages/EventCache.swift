import Glibc
import PresenceProtocol

/// Decodes server messages, each distinct one once.
///
/// A change reaches thousands of watchers in the same bytes. So a message that equals one of the last few thousand
/// distinct ones is not decoded again: that costs a hash of eight bytes at a time and a comparison, some 30 ns. It
/// makes the clients so much cheaper than the server that the server is measured.
struct EventCache {
    private var entries = [Entry?](repeating: nil, count: places)
    /// How often a message had to be decoded.
    private(set) var misses = 0

    /// A power of two, many times the number of distinct events in flight, so that two rarely share a place.
    private static let places = 4_096
    /// Longer messages are answers to one client only.
    private static let longest = 2_048

    private struct Entry {
        var bytes: [UInt8]
        var message: ServerMessage
    }

    mutating func decode(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> ServerMessage {
        guard bytes.count <= Self.longest else { return try ServerMessage.decode(bytes) }
        let place = Self.hash(bytes) & (Self.places - 1)
        if let entry = entries[place], Self.areEqual(entry.bytes, bytes) { return entry.message }
        misses += 1
        let message = try ServerMessage.decode(bytes)
        entries[place] = Entry(bytes: [UInt8](bytes), message: message)
        return message
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hash = UInt64(bytes.count)
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 29
            offset += 8
        }
        while offset < bytes.count {
            hash = (hash ^ UInt64(bytes[offset])) &* 0x100_0000_01B3
            offset += 1
        }
        return Int(truncatingIfNeeded: hash >> 16)
    }

    private static func areEqual(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        known.count == bytes.count
            && known.withUnsafeBytes { memcmp($0.baseAddress!, bytes.baseAddress!, bytes.count) == 0 }
    }
}
