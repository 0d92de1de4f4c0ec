import Foundation
import PresenceCore
import PresenceProtocol

/// When the clocks of a time zone differ from UTC by how much: a file of the system's tz data (TZif, RFC 9636).
struct ZoneRules: Sendable {
    /// The times of changes, in seconds since 1970, and the offsets from then on, in seconds.
    private var changes: [(time: Int64, offset: Int64)] = []
    /// Before the first change.
    private var first: Int64 = 0
    /// After the last change.
    private var rule: YearlyRule?

    /// - Parameter file: The bytes of a file; `nil` for one that is damaged.
    init?(_ file: [UInt8]) {
        guard let head = Block(file, at: 0) else { return nil }
        guard file[4] >= UInt8(ascii: "2") else {
            guard read(file, head, width: 4) else { return nil }
            return
        }
        // The first block is for readers of 32 bits. The second has 64.
        guard let block = Block(file, at: head.end(width: 4)), read(file, block, width: 8) else { return nil }
        let footer = file[block.end(width: 8)...].dropFirst().prefix { $0 != 0x0A }
        guard !footer.isEmpty else { return }
        rule = YearlyRule(String(decoding: footer, as: UTF8.self))
        if rule == nil { return nil }
    }

    /// The offset from UTC at a time, in seconds.
    func offset(at time: Int64) -> Int64 {
        guard let last = changes.last else { return rule?.offset(at: time) ?? first }
        guard time < last.time else { return rule?.offset(at: time) ?? last.offset }
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].time <= time { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? first : changes[low - 1].offset
    }

    /// The first and the last instant of a local time, as seconds since 1970: it may come twice. One that is left out is an instant as if
    /// the clocks had not been changed yet.
    func instants(of local: Int64) -> ClosedRange<Int64> {
        let before = local - offset(at: local - 86_400)
        let after = local - offset(at: local + 86_400)
        let found = [before, after].filter { $0 + offset(at: $0) == local }
        guard let least = found.min(), let most = found.max() else { return before...before }
        return least...most
    }

    // MARK: Reading

    /// The counts of a block, and where its data begin.
    private struct Block {
        let start: Int
        /// The counts are in the order of the file: isut, isstd, leap, time, type, char.
        let counts: [Int]

        init?(_ file: [UInt8], at place: Int) {
            guard place >= 0, file.count >= place + 44, Array(file[place..<place + 4]) == Array("TZif".utf8) else {
                return nil
            }
            start = place + 44
            counts = (0..<6).map { Int(ZoneRules.integer(file, place + 20 + 4 * $0, width: 4)) }
            guard counts.allSatisfy({ (0...100_000).contains($0) }), counts[4] > 0 else { return nil }
        }

        /// - Parameter width: The bytes of a time.
        func end(width: Int) -> Int {
            start + counts[3] * (width + 1) + counts[4] * 6 + counts[5] + counts[2] * (width + 4) + counts[1]
                + counts[0]
        }
    }

    private mutating func read(_ file: [UInt8], _ block: Block, width: Int) -> Bool {
        guard file.count >= block.end(width: width) else { return false }
        let (times, types) = (block.counts[3], block.counts[4])
        let (indices, records) = (block.start + times * width, block.start + times * (width + 1))
        func offset(_ type: Int) -> Int64 { Self.integer(file, records + 6 * type, width: 4) }
        first = offset(0)
        for place in 0..<times {
            let type = Int(file[indices + place])
            guard type < types else { return false }
            changes.append((Self.integer(file, block.start + place * width, width: width), offset(type)))
        }
        return zip(changes, changes.dropFirst()).allSatisfy { $0.time < $1.time }
    }

    /// A signed integer, the highest byte first.
    private static func integer(_ file: [UInt8], _ place: Int, width: Int) -> Int64 {
        let bits = file[place..<place + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return width == 4 ? Int64(Int32(truncatingIfNeeded: bits)) : Int64(bitPattern: bits)
    }
}

/// The rules of time zones, read from the system's tz data when they are first needed, and kept: an update of the data holds from the next
/// start on.
final class Zones {
    private unowned let shard: ShardLogic
    /// By name; at most as many as the system has.
    private var known: [String: ZoneRules] = [:]

    static let folder = "/usr/share/zoneinfo"
    /// The largest files have some 4 KiB.
    private static let mostBytes = 1_048_576

    /// Whether this system has tz data. Read at the first use: `load()`, at the start.
    static let exist = rules(of: "Europe/Berlin") != nil

    static func load() { _ = exist }

    init(_ shard: ShardLogic) { self.shard = shard }

    /// - Returns: `nil` if this system does not have the time zone.
    /// - Throws: If too many jobs wait.
    func rules(of name: String) async throws(Refusal) -> ZoneRules? {
        if let rules = known[name] { return rules }
        guard TimeZones.has(name) else { return nil }
        let rules = try await shard.work(.files) { Self.rules(of: name) }
        known[name] = rules
        return rules
    }

    private static func rules(of name: String) -> ZoneRules? {
        // A well-formed name has no dots, so it stays in the folder.
        guard TimeZoneName.isWellFormed(name), let file = FileHandle(forReadingAtPath: "\(folder)/\(name)") else {
            return nil
        }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: mostBytes) else { return nil }
        return ZoneRules(Array(data))
    }
}
