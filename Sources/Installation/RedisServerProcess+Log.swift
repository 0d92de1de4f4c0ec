import Foundation

/// The end of Redis' log, for the error message when it did not start.
extension RedisServerProcess {
    var logSize: UInt64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory.file("redis.log"))
        return (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
    }

    /// The last lines that Redis wrote since its log was `offset` bytes long.
    func logTail(from offset: UInt64) -> String {
        guard let log = FileHandle(forReadingAtPath: directory.file("redis.log")) else { return "" }
        defer { try? log.close() }
        try? log.seek(toOffset: offset)
        let text = String(decoding: (try? log.read(upToCount: 65_536)) ?? Data(), as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).suffix(5)
        return lines.isEmpty ? "" : ":\n  " + lines.joined(separator: "\n  ")
    }
}
