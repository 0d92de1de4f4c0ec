import Foundation

/// The names of time zones that this host knows, read once: later lookups read no file, so they may run on a loop.
enum TimeZones {
    /// Read at the first use: `load()`, at the start.
    private static let names = Set(TimeZone.knownTimeZoneIdentifiers + files(in: "/usr/share/zoneinfo"))
        .union(["UTC", "GMT"])

    /// The database has more names than Foundation lists, among them old names and `Etc/…`. Each is a file of that
    /// name. Tables, and the zones with another count of leap seconds (`posix/`, `right/`), begin with a small letter.
    ///
    /// Only names are read, because each start of a server waits for it.
    private static func files(in folder: String, named prefix: String = "") -> [String] {
        // Owned and closed by this call; no other thread has it.
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            // The name is valid until the next entry is read, and ends with a zero byte.
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

    static func load() {
        _ = names
        Zones.load()
    }
    static func has(_ name: String) -> Bool { names.contains(name) }
}
