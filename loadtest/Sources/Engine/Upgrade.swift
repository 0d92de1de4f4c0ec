import Foundation
import Signing

/// The opening handshake of a WebSocket (RFC 6455, section 4), the same bytes for every connection.
struct Upgrade {
    let request: [UInt8]
    private let accept: String

    /// The subprotocol of our server.
    static let presence = "presence.v1"

    /// - Parameter subprotocol: the requested one; `nil` requests none.
    init(endpoint: Endpoint, subprotocol: String? = presence) {
        let wish = subprotocol.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
        let key = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        accept = Self.accept(key)
        request = Array(
            """
            GET \(endpoint.path) HTTP/1.1\r
            Host: \(endpoint.authority)\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Key: \(key)\r
            Sec-WebSocket-Version: 13\r
            \(wish)\r

            """.utf8)
    }

    /// A server's answer to a key.
    static func accept(_ key: String) -> String {
        let digest = SHA1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return Data(digest).base64EncodedString()
    }

    enum Answer: Equatable {
        case incomplete
        case refused(String)
        /// The upgrade is done; the head of the answer was this many bytes.
        case accepted(length: Int)
    }

    /// A longer head without an end is invalid.
    static let longestHead = 16_384

    /// Parses the server's answer as far as it has arrived.
    func judge(_ bytes: UnsafeRawBufferPointer) -> Answer {
        guard let end = Self.endOfHead(bytes) else {
            return bytes.count > Self.longestHead ? .refused("an endless HTTP answer") : .incomplete
        }
        let head = UnsafeRawBufferPointer(rebasing: bytes[..<end])
        guard head.starts(with: "HTTP/1.1 101".utf8) else {
            let line = String(decoding: head.prefix { $0 != 0x0D }, as: UTF8.self)
            return .refused("the upgrade was answered \(line.isEmpty ? "with nothing" : line)")
        }
        let answered = head.indices.contains { head[$0] == 0x0A && isAccept(head[($0 + 1)...]) }
        return answered ? .accepted(length: end) : .refused("the upgrade was answered without the right accept key")
    }

    /// Whether `lines` begin with the header for the key. By bytes, since every connection calls it.
    private func isAccept(_ lines: Slice<UnsafeRawBufferPointer>) -> Bool {
        let name = "sec-websocket-accept:".utf8
        // The bit that distinguishes upper from lower case is set in the name's other characters.
        guard lines.prefix(name.count).elementsEqual(name, by: { $0 | 0x20 == $1 }) else { return false }
        let line = lines.dropFirst(name.count).prefix { $0 != 0x0D }
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let value = line.drop(while: isSpace)
        return value.starts(with: accept.utf8) && value.dropFirst(accept.utf8.count).allSatisfy(isSpace)
    }

    /// The end of the first empty line; `nil` if there is none.
    static func endOfHead(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in 3..<bytes.count where bytes[index] == 0x0A {
            if bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D { return index + 1 }
        }
        return nil
    }
}
