import Foundation

/// A minimal WebSocket server of POSIX sockets, so that it runs wherever the transport does. It accepts one connection,
/// echoes one message, and closes with 4001.
final class LocalWebSocketServer: Sendable {
    let port: UInt16
    private let listener: Int32

    init() throws {
        #if canImport(Darwin)
            let kind = SOCK_STREAM
        #else
            let kind = Int32(SOCK_STREAM.rawValue)
        #endif
        let socket = socket(AF_INET, kind, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, size) == 0 && listen(socket, 1) == 0 && getsockname(socket, address, &size) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        listener = socket
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { Self.serve(socket) }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ listener: Int32) {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        defer { close(connection) }
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), let byte = read(connection, 1)?.first {
            head.append(byte)
        }
        let text = String(decoding: head, as: UTF8.self)
        guard let key = text.firstMatch(of: /(?i)sec-websocket-key: *(\S+)/)?.output.1 else { return }
        let accept = Data(SHA1.digest(Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))).base64EncodedString()
        write(
            connection,
            Array(
                """
                HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r
                Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Protocol: presence.v1\r\n\r\n
                """.utf8))
        // One short masked text frame: two bytes of head, four of mask.
        guard let start = read(connection, 6), start[0] == 0x81, let masked = read(connection, Int(start[1] & 0x7F))
        else {
            return
        }
        let message = masked.enumerated().map { $1 ^ start[2 + $0 % 4] }
        write(connection, [0x81, UInt8(message.count)] + message)
        write(connection, [0x88, 5, 0x0F, 0xA1] + Array("bye".utf8))
        _ = read(connection, 1)
    }

    private static func read(_ connection: Int32, _ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var buffer = [UInt8](repeating: 0, count: count - bytes.count)
            let got = recv(connection, &buffer, buffer.count, 0)
            guard got > 0 else { return nil }
            bytes += buffer[..<got]
        }
        return bytes
    }

    private static func write(_ connection: Int32, _ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, 0) }
    }
}

/// Only for the handshake of WebSockets.
enum SHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        padded += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (message.count * 8) >> ($0 * 8)) }
        for start in stride(from: 0, to: padded.count, by: 64) {
            var words = (0..<16).map { index in
                (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(padded[start + index * 4 + $1]) }
            }
            for index in 16..<80 {
                words.append(rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
            }
            state = round(state, words)
        }
        return state.flatMap { word in (0..<4).reversed().map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }

    private static func round(_ state: [UInt32], _ words: [UInt32]) -> [UInt32] {
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mix, constant): (UInt32, UInt32) =
                switch index {
                case 0..<20: (b & c | ~b & d, 0x5A82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case 40..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotate(a, 5) &+ mix &+ e &+ constant &+ words[index]
            (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
        }
        return [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d, state[4] &+ e]
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
