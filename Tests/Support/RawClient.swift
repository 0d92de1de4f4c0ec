import Glibc
import WebSockets

/// A client that writes and reads bytes by hand over a blocking socket.
final class RawClient {
    struct Frame: Equatable {
        var opcode: UInt8
        var isFinal = true
        var payload: [UInt8]

        var text: String { String(decoding: payload, as: UTF8.self) }
        var closeCode: Int? { opcode == 8 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }
        var closeReason: String { String(decoding: payload.dropFirst(2), as: UTF8.self) }
    }

    /// The connection ended where more was expected.
    struct Ended: Error {}

    let descriptor: Int32
    private var input: [UInt8] = []

    init(port: Int, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
        // A net for tests that would hang otherwise.
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Ended() }
    }

    deinit { Glibc.close(descriptor) }

    // MARK: - Bytes

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Ended() }
            sent += count
        }
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    private func fill() throws {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw Ended() }
        input += buffer.prefix(count)
    }

    func read(_ count: Int) throws -> [UInt8] {
        while input.count < count { try fill() }
        defer { input.removeFirst(count) }
        return Array(input.prefix(count))
    }

    /// Everything up to the end of the connection.
    func readToEnd() -> [UInt8] {
        while (try? fill()) != nil {}
        defer { input = [] }
        return input
    }

    // MARK: - HTTP

    struct Response {
        var status: Int
        var head: String
        var body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    func readHead() throws -> String {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) { head += try read(1) }
        return String(decoding: head, as: UTF8.self)
    }

    func readResponse(hasBody: Bool = true) throws -> Response {
        let head = try readHead()
        let status = Int(head.split(separator: " ")[1])!
        let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let count = length.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        return Response(status: status, head: head, body: hasBody ? try read(count) : [])
    }

    // MARK: - WebSocket

    static func upgrade(path: String = "/ws", headers: [String] = []) -> String {
        let lines =
            [
                "GET \(path) HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: keep-alive, Upgrade",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
            ] + headers
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Connected, and through the handshake.
    static func upgraded(port: Int, headers: [String] = [], receiveBuffer: Int32? = nil) throws -> RawClient {
        let client = try RawClient(port: port, receiveBuffer: receiveBuffer)
        try client.send(upgrade(headers: headers))
        guard try client.readHead().hasPrefix("HTTP/1.1 101 ") else { throw Ended() }
        return client
    }

    static func frame(_ opcode: UInt8, _ payload: [UInt8], final: Bool = true, masked: Bool = true) -> [UInt8] {
        var bytes: [UInt8] = [(final ? 0x80 : 0) | opcode]
        let bit: UInt8 = masked ? 0x80 : 0
        if payload.count < 126 {
            bytes.append(bit | UInt8(payload.count))
        } else if payload.count < 65536 {
            bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        } else {
            bytes += [bit | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        guard masked else { return bytes + payload }
        let mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
    }

    func send(text: String) throws { try send(Self.frame(1, Array(text.utf8))) }

    func sendClose(_ code: Int?, _ reason: String = "") throws {
        let payload = code.map { [UInt8($0 >> 8), UInt8($0 & 255)] + Array(reason.utf8) } ?? []
        try send(Self.frame(8, payload))
    }

    func readFrame() throws -> Frame {
        let start = try read(2)
        var length = Int(start[1] & 0x7f)
        if length == 126 {
            length = try read(2).reduce(0) { $0 << 8 | Int($1) }
        } else if length == 127 {
            length = try read(8).reduce(0) { $0 << 8 | Int($1) }
        }
        return Frame(opcode: start[0] & 15, isFinal: start[0] & 0x80 != 0, payload: try read(length))
    }

    /// The next text message.
    func readText() throws -> String {
        let frame = try readFrame()
        guard frame.opcode == 1 else { throw Ended() }
        return frame.text
    }
}
