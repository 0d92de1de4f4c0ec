import CZlib
import WebSockets

/// Compression of responses: text of more than 1 KiB, as gzip, on a pool of its own.
enum Compression {
    /// In bytes. A shorter body fits into a packet anyway.
    static let least = 1024

    /// Whether compression pays off. Bodies that are already compressed, or are a part, are excluded.
    static func isWorth(_ response: HTTPResponse) -> Bool {
        guard response.body.count > least, response.source == nil, response.status != 206 else { return false }
        return response.headers.contains { $0.name == "Content-Type" && isText($0.value) }
            && !response.headers.contains { $0.name == "Content-Encoding" }
    }

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

/// Embedded bytes to serve, with their gzip form: compressed once, not for each client.
package struct PackedBytes: Sendable {
    package let plain: [UInt8]
    /// `nil` if it would not be smaller.
    package let gzip: [UInt8]?

    package init(_ plain: [UInt8]) {
        self.plain = plain
        gzip = plain.count > Compression.least ? Compression.gzip(plain, level: 9) : nil
    }
}
