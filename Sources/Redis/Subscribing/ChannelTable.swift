import Glibc

/// Finds a channel by the bytes of its name, without making a `String`: this runs for every message.
///
/// Open addressing with at most half of the slots in use. The hash is Swift's own, seeded by the process: clients
/// choose the ids in names, and must not find ids that collide. A removed channel leaves no mark: the channels after it
/// move up.
struct ChannelTable {
    struct Channel {
        let name: [UInt8]
        /// The owner's number for it.
        let index: Int
        /// Whether it is in the list with which the table was made; it is then never removed.
        let isFixed: Bool
    }

    private var channels: [Channel?] = []
    /// Free places in `channels`.
    private var free: [Int32] = []
    /// The place of a channel, or -1; the length is a power of two.
    private var slots: [Int32]
    private(set) var count = 0

    /// Each channel's index is its position in the list.
    ///
    /// - Precondition: all names differ.
    init(_ names: [String]) {
        slots = [Int32](repeating: -1, count: 8)
        for (index, name) in names.enumerated() {
            let isNew = insert(Array(name.utf8), index: index, isFixed: true)
            precondition(isNew, "channel \(name) is named twice")
        }
    }

    /// - Returns: false if it exists already; nothing changes then.
    @discardableResult
    mutating func insert(_ name: [UInt8], index: Int, isFixed: Bool = false) -> Bool {
        guard name.withUnsafeBytes({ self.place(of: $0) }) == nil else { return false }
        if (count + 1) * 2 > slots.count { grow() }
        let channel = Channel(name: name, index: index, isFixed: isFixed)
        let place = free.popLast() ?? Int32(channels.count)
        if Int(place) == channels.count { channels.append(channel) } else { channels[Int(place)] = channel }
        enter(place, name)
        count += 1
        return true
    }

    /// - Returns: false if it does not exist.
    @discardableResult
    mutating func remove(_ name: [UInt8]) -> Bool {
        guard var gap = name.withUnsafeBytes({ self.slot(of: $0) }) else { return false }
        let place = slots[gap]
        channels[Int(place)] = nil
        free.append(place)
        count -= 1
        let mask = slots.count - 1
        var slot = (gap + 1) & mask
        while slots[slot] >= 0 {
            let home = self.home(of: channels[Int(slots[slot])]!.name)
            // The channel may move into the gap unless its home lies behind the gap.
            if (slot - home) & mask >= (slot - gap) & mask {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = (slot + 1) & mask
        }
        slots[gap] = -1
        return true
    }

    /// The place of the channel with this name, valid until the channel is removed; `nil` if there is none.
    func place(of name: UnsafeRawBufferPointer) -> Int? { slot(of: name).map { Int(slots[$0]) } }

    /// The channel at a place that `place(of:)` returned.
    subscript(place: Int) -> Channel { channels[place]! }

    private func slot(of name: UnsafeRawBufferPointer) -> Int? {
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] >= 0 {
            let isSame = channels[Int(slots[slot])]!.name.withUnsafeBytes { candidate in
                candidate.count == name.count
                    && (name.isEmpty || memcmp(candidate.baseAddress!, name.baseAddress!, name.count) == 0)
            }
            if isSame { return slot }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private func home(of name: [UInt8]) -> Int { name.withUnsafeBytes(Self.hash) & (slots.count - 1) }

    private mutating func enter(_ place: Int32, _ name: [UInt8]) {
        var slot = home(of: name)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = place
    }

    private mutating func grow() {
        slots = [Int32](repeating: -1, count: slots.count * 2)
        for (place, channel) in channels.enumerated() {
            if let channel { enter(Int32(place), channel.name) }
        }
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return hasher.finalize()
    }
}
