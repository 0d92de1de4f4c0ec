import Foundation

/// The names of time zones that this host knows, read once: looking one up later touches no file, so it may be done on a
/// loop.
enum TimeZones {
    /// Read at the first use, which `load()` makes happen at the start.
    private static let names = Set(TimeZone.knownTimeZoneIdentifiers + files(in: "/usr/share/zoneinfo"))
        .union(["UTC", "GMT"])

    /// The database has more than Foundation lists, old names and `Etc/…` among them, each a file of its name. Tables and the
    /// zones with other reckonings of leap seconds (`posix/`, `right/`) have names that begin with a small letter.
    ///
    /// Only names are read: each start of a server waits for it.
    private static func files(in folder: String, named prefix: String = "") -> [String] {
        // Its owner is this call, which closes it; no other thread sees it.
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            // Valid until the next entry is read, and ended by a zero.
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard ("A"..."Z").contains(name.prefix(1)), !name.contains("."), name != "Factory" else { continue }
            let isFile = [DT_REG, DT_LNK].contains(Int(entry.pointee.d_type))
            let inner = isFile ? [] : files(in: "\(folder)/\(name)", named: "\(prefix)\(name)/")
            names += inner.isEmpty ? [prefix + name] : inner
        }
        return names
    }

    static func load() { _ = names }
    static func has(_ name: String) -> Bool { names.contains(name) }
}
