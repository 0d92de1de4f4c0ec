import Foundation
import PresenceCore

/// The names of time zones that this host knows, read once: looking one up later touches no file, so it may be done on a
/// loop.
enum TimeZones {
    /// Read at the first use, which `load()` makes happen at the start.
    private static let names: Set<String> = {
        var names = Set(TimeZone.knownTimeZoneIdentifiers)
        // The database has many more, old names and `Etc/…` among them, each a file of its name.
        let root = "/usr/share/zoneinfo"
        let files = FileManager.default.enumerator(atPath: root)
        while let name = files?.nextObject() as? String {
            if !isOther(name), TimeZone(identifier: name) != nil { names.insert(name) }
        }
        return names.union(["UTC", "GMT"])
    }()

    /// What lies beside the zones: the same again with other reckonings of leap seconds, and tables.
    private static func isOther(_ name: String) -> Bool {
        name.hasPrefix("posix/") || name.hasPrefix("right/") || name.hasPrefix("posix") || name.contains(".")
            || name == "localtime" || name == "Factory"
    }

    static func load() { _ = names }
    static func has(_ name: String) -> Bool { names.contains(name) }
}
