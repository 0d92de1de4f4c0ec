import Foundation
import Testing

@testable import presence_load

/// A WebSocket server that accepts one connection and runs a test's script on it, byte by byte, in a thread of its own.
///
/// Unsafe: `outcome` is written by that thread before it signals `ended`, and read only after that.
final class ScriptedServer: @unchecked Sendable {
    let url: String
    private let listening: Int32
    private let ended = DispatchSemaphore(value: 0)
    private var outcome: (any Error)?

    init(_ script: @escaping @Sendable (Peer) throws -> Void) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = try withUnsafeMutableBytes(of: &address) { bytes in
            let generic = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            try #require(bind(descriptor, generic, size) == 0 && listen(descriptor, 8) == 0)
            try #require(getsockname(descriptor, generic, &size) == 0)
            return UInt16(bigEndian: bytes.baseAddress!.assumingMemoryBound(to: sockaddr_in.self).pointee.sin_port)
        }
        url = "ws://127.0.0.1:\(port)/v1/ws"
        listening = descriptor
        Thread.detachNewThread { [self] in
            let accepted = accept(descriptor, nil, nil)
            do {
                guard accepted >= 0 else { throw Peer.Ended() }
                defer { close(accepted) }
                try script(Peer(descriptor: accepted))
            } catch {
                outcome = error
            }
            ended.signal()
        }
    }

    /// From now on no server listens at the address.
    func stopListening() {
        // Closed only after the thread has ended: its number could immediately be another test's socket.
        shutdown(listening, Int32(SHUT_RDWR))
        ended.wait()
        close(listening)
    }

    /// Waits for the script's end and throws its error, or that no client connected.
    func finish() throws {
        stopListening()
        if let outcome { throw outcome }
    }

    /// The one client.
    struct Peer {
        let descriptor: Int32

        struct Ended: Error {}

        func send(_ bytes: [UInt8]) throws {
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Ended() }
                sent += count
            }
        }

        /// One final text frame, of any length.
        func sendText(_ text: String) throws {
            let count = text.utf8.count
            let length = (0..<8).reversed().map { UInt8(count >> ($0 * 8) & 0xFF) }
            try send([0x81, 127] + length + Array(text.utf8))
        }

        func upgrade() throws {
            let line = try #require(
                try readHead().split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") })
            let accept = Upgrade.accept(String(line.dropFirst(19)))
            let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            try send(Array("\(head)Sec-WebSocket-Accept: \(accept)\r\n\r\n".utf8))
        }

        /// The request up to its empty line.
        func readHead() throws -> String {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual([13, 10, 13, 10]) { head += try read(1) }
            return String(decoding: head, as: UTF8.self)
        }

        /// One masked frame, its payload unmasked.
        func readFrame() throws -> (opcode: UInt8, payload: [UInt8]) {
            let first = try read(2)
            var length = Int(first[1] & 0x7F)
            if length >= 126 { length = try read(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) } }
            let mask = try read(4)
            var payload = try read(length)
            for index in payload.indices { payload[index] ^= mask[index % 4] }
            return (first[0] & 0x0F, payload)
        }

        private func read(_ count: Int) throws -> [UInt8] {
            guard count > 0 else { return [] }
            var bytes = [UInt8](repeating: 0, count: count)
            let received = recv(descriptor, &bytes, count, Int32(MSG_WAITALL))
            guard received == count else { throw Ended() }
            return bytes
        }
    }
}
