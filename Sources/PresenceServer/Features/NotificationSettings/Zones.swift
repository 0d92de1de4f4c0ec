import Foundation
import PresenceCore
import PresenceProtocol

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
