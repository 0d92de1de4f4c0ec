import Glibc
import PresenceProtocol

/// Finds a topic's number by its subject's id, as bytes from Redis.
///
/// Most events of a large installation are for people without a watcher on this shard. With a dictionary each event
/// would cost a `String`, its validation and a look-up; here it costs a hash and usually one comparison. 8 bytes a
/// slot, open addressing; the ids themselves stay in the topics.
struct SubjectTable {
    /// The low 32 bits of the hash in the upper half, the number plus one in the lower; 0 for an empty slot.
    private var slots = [UInt64](repeating: 0, count: 16)
    private(set) var count = 0

    /// - Parameter isSubject: Whether the id of the topic with this number has these bytes; called only if the hashes
    ///   match.
    func find(_ bytes: UnsafeRawBufferPointer, isSubject: (UInt32) -> Bool) -> UInt32? {
        let hash = Self.hash(bytes)
        var place = Int(hash) & (slots.count - 1)
        while slots[place] != 0 {
            if UInt32(slots[place] >> 32) == hash {
                let number = UInt32(truncatingIfNeeded: slots[place]) - 1
                if isSubject(number) { return number }
            }
            place = (place + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a number whose subject is not in the table yet.
    mutating func insert(_ number: UInt32, _ bytes: UnsafeRawBufferPointer) {
        if (count + 1) * 4 > slots.count * 3 { grow() }
        place(UInt64(Self.hash(bytes)) << 32 | UInt64(number + 1))
        count += 1
    }

    mutating func remove(_ number: UInt32, _ bytes: UnsafeRawBufferPointer) {
        let mask = slots.count - 1
        var hole = Int(Self.hash(bytes)) & mask
        while UInt32(truncatingIfNeeded: slots[hole]) != number + 1 {
            guard slots[hole] != 0 else { return }
            hole = (hole + 1) & mask
        }
        count -= 1
        // A later entry that could be in the hole moves there: no tombstones are needed.
        var next = (hole + 1) & mask
        while slots[next] != 0 {
            let home = Int(slots[next] >> 32) & mask
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = 0
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: old.count * 2)
        for slot in old where slot != 0 { place(slot) }
    }

    private mutating func place(_ slot: UInt64) {
        var place = Int(slot >> 32) & (slots.count - 1)
        while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
        slots[place] = slot
    }

    /// Swift's hash is seeded per process: a client cannot choose ids that collide.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }
}

extension Identifier {
    /// Passes the id's bytes for the duration of the call.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var string = string
        return string.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    package func has(_ bytes: UnsafeRawBufferPointer) -> Bool {
        withBytes { own in
            guard own.count == bytes.count else { return false }
            guard let first = own.baseAddress, let second = bytes.baseAddress else { return true }
            return memcmp(first, second, own.count) == 0
        }
    }
}
