import CZlib
import EventLoops
import WebSockets

/// Compression of responses: text of more than 1 KiB, as gzip, on a pool of its own.
enum Compression {
    /// In bytes. A shorter body fits into a packet anyway.
    static let least = 1024

    /// Whether compression pays off. Bodies that are already compressed, or are a part, are excluded.
    static func isWorth(_ response: HTTPResponse) -> Bool {
        guard response.source == nil, response.status != 206 else { return false }
        return response.headers.contains { $0.name == "Content-Type" && isWorth(response.body.count, of: $0.value) }
            && !response.headers.contains { $0.name == "Content-Encoding" }
    }

    /// The same for so many bytes of a type.
    static func isWorth(_ count: Int, of type: String) -> Bool { count > least && isText(type) }

    private static func isText(_ type: String) -> Bool {
        let name = type.prefix { $0 != ";" }
        return name.hasPrefix("text/")
            || ["application/json", "application/javascript", "application/manifest+json", "image/svg+xml"].contains(
                name)
    }

    /// - Parameter level: 1 to 9. Compared to 5, level 6 takes twice as long and saves 2 % (JSON).
    /// - Returns: `nil` if it would not be smaller.
    static func gzip(_ bytes: [UInt8], level: Int32 = 5) -> [UInt8]? {
        let packed = [UInt8](unsafeUninitializedCapacity: bytes.count - 1) { room, count in
            count = bytes.withUnsafeBytes { czlib_gzip($0.baseAddress, $0.count, room.baseAddress, room.count, level) }
        }
        return packed.isEmpty ? nil : packed
    }

    /// The same response with its body compressed.
    static func apply(_ body: [UInt8], to response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.body = body
        // The compressed body differs byte for byte (RFC 9110, 8.8.1), and ranges of it are not available.
        for index in response.headers.indices where response.headers[index].name == "ETag" {
            response.headers[index].value = "W/" + response.headers[index].value
        }
        response.headers.removeAll { $0.name == "Accept-Ranges" }
        response.headers.append(("Content-Encoding", "gzip"))
        return response
    }
}

/// Embedded bytes to serve, and their gzip form: made for the first client that accepts it, and kept.
package final class PackedBytes: Sendable {
    package let plain: [UInt8]
    private let form = Locked<[UInt8]?>(nil)

    package init(_ plain: [UInt8]) { self.plain = plain }

    /// The gzip form if a client had it before.
    var gzip: [UInt8]? { form.withLock { $0 } }

    /// Makes the gzip form; two threads may do so at a time. Not for a loop: the longest file takes some ms.
    ///
    /// - Returns: `nil` if it would not be smaller.
    func pack() -> [UInt8]? {
        let packed = Compression.gzip(plain, level: 9)
        form.withLock { $0 = packed }
        return packed
    }
}
