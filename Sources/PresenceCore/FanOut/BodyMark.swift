import Glibc
import PresenceProtocol

/// Fills in a placeholder at the beginning of URLs in profile bodies. Its replacement is the server's public URL, which
/// may change, and may differ between servers.
///
/// Redis keeps and forwards the body unparsed. A server fills the placeholder in once, when it receives the body, and not
/// for each watcher.
package struct BodyMark {
    /// The placeholder, at the beginning of a value.
    private let mark: [UInt8]
    private let replacement: [UInt8]

    /// - Parameters:
    ///   - mark: No URL that clients may set begins with it.
    ///   - replacement: As plain text.
    package init(_ mark: String, replacement: String) {
        // A quote within a string is escaped, so this pattern occurs only between a member's name and its value.
        self.mark = Array((#"":""# + mark).utf8)
        var encoded: [UInt8] = []
        JSONWriter.string(replacement, to: &encoded)
        self.replacement = Array(#"":"#.utf8) + encoded.dropLast()
    }

    /// A body for clients; `nil` if it needs no change.
    func filling(_ body: UnsafeRawBufferPointer) -> [UInt8]? {
        var (filled, from, at): ([UInt8], Int, Int) = ([], 0, 0)
        // Unsafe: all bytes compared are within the body, which is valid during the call.
        while let start = body.baseAddress, let found = memchr(start + at, Int32(mark[0]), body.count - at) {
            at = UnsafeRawPointer(found) - start
            guard at + mark.count <= body.count else { break }
            guard memcmp(found, mark, mark.count) == 0 else {
                at += 1
                continue
            }
            filled += body[from..<at]
            filled += replacement
            at += mark.count
            from = at
        }
        guard from > 0 else { return nil }
        return filled + body[from...]
    }
}

extension BodyMark? {
    /// A profile's body for clients.
    package func filled(_ body: [UInt8]) -> [UInt8] {
        guard let self else { return body }
        return body.withUnsafeBytes { self.filling($0) } ?? body
    }
}

extension ShardLogic {
    /// The event of a register whose body came from Redis.
    func frame(_ kind: RegisterKind, of user: UserID, _ event: StoreEvent) -> Register {
        func frame(_ body: UnsafeRawBufferPointer) -> Register {
            RegisterEncoder.event(kind, user: user, version: event.version, body: body, at: event.at)
        }
        guard kind == .profile, let filled = bodyMark?.filling(event.rest) else { return frame(event.rest) }
        return filled.withUnsafeBytes { frame($0) }
    }
}
