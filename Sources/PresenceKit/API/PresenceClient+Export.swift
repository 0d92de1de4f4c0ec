import Foundation

extension PresenceClient {
    /// Writes all data that the server has of the signed-in user to a file: a tar with `export.jsonl`, the picture and the
    /// files of the user's messages. It replaces a file of this name only once it is whole.
    ///
    /// - Parameters:
    ///   - file: the address of the new file.
    ///   - progress: called with the share that has arrived, from 0 to 1, from any thread.
    /// - Throws: `rateLimited` with `retryAfter` for a user who has made several within the last hours; `unavailable` if
    ///   the server is making others; `storageFailed` if the file cannot be written; `notOffered` for an older server;
    ///   `notConnected`, `connectionLost`.
    public func exportData(to file: URL, progress: @escaping @Sendable (Double) -> Void = { _ in }) async throws {
        let part = file.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString).part")
        guard FileManager.default.createFile(atPath: part.path, contents: nil) else {
            throw PresenceError(.storageFailed, "the file cannot be made")
        }
        defer { try? FileManager.default.removeItem(at: part) }
        var request = HTTPServer.Request("GET", "v1/me/export")
        // The server collects the data before it sends the first byte.
        request.timeout = .seconds(60)
        request.download = HTTPRequest.Download(to: part) { bytes, all in
            if let all, all > 0 { progress(min(1, Double(bytes) / Double(all))) }
        }
        _ = try await send(request)
        // As a whole: a crash leaves the former file or the new one.
        guard rename(part.path, file.path) == 0 else {
            throw PresenceError(.storageFailed, "the file cannot be given its name")
        }
        progress(1)
    }
}
