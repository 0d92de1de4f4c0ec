import Crypto
import Foundation

/// The opening handshake of a WebSocket (RFC 6455, section 4), the same bytes for every connection.
struct Upgrade {
    let request: [UInt8]
    private let accept: String

    /// The subprotocol of our server.
    static let presence = "presence.v1"

    /// - Parameter subprotocol: what to ask for; `nil` asks for none.
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

    /// What a server answers to a key.
    static func accept(_ key: String) -> String {
        let digest = Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return Data(digest).base64EncodedString()
    }

    enum Answer: Equatable {
        case incomplete
        case refused(String)
        /// The upgrade is done; the head of the answer was this many bytes.
        case accepted(length: Int)
    }

    /// More than this of head without an end is not an answer.
    static let longestHead = 16_384

    /// Judges the server's answer, as far as it has come.
    func judge(_ bytes: UnsafeRawBufferPointer) -> Answer {
        guard let end = Self.endOfHead(bytes) else {
            return bytes.count > Self.longestHead ? .refused("an endless HTTP answer") : .incomplete
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        guard let status = lines.first, status.hasPrefix("HTTP/1.1 101") else {
            return .refused("the upgrade was answered \(lines.first ?? "with nothing")")
        }
        let answered = lines.dropFirst().contains { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "sec-websocket-accept"
                && parts[1].trimmingCharacters(in: .whitespaces) == accept
        }
        return answered ? .accepted(length: end) : .refused("the upgrade was answered without the right accept key")
    }

    /// Where the first empty line ends; `nil` if there is none.
    static func endOfHead(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in 3..<bytes.count where bytes[index] == 0x0A {
            if bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D { return index + 1 }
        }
        return nil
    }
}
