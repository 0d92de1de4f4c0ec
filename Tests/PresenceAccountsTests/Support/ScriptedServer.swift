import Foundation
import PresenceAccounts
import PresenceKit

/// An HTTP server on a free port of this machine, made of a few lines of POSIX sockets, with scripted replies: also
/// late, incomplete or missing ones.
final class ScriptedServer: Sendable {
    enum Reply: Sendable {
        case answer(HTTPResponse)
        /// Sends these bytes and closes the connection.
        case raw(String)
        /// Closes the connection.
        case hangUp
        /// Sends nothing until the client gives up.
        case silence
    }

    typealias Script = @Sendable (HTTPRequest) -> Reply

    let url: URL
    private let listener: Int32

    /// - Parameters:
    ///   - head: called for each request before its body is read; `false` closes the connection there.
    init(
        head: @escaping @Sendable (String) -> Bool = { _ in true }, _ script: @escaping Script
    ) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, size) == 0 && listen(socket, 128) == 0
                    && getsockname(socket, address, &size) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        listener = socket
        url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))")!
        Thread.detachNewThread {
            while true {
                let connection = accept(socket, nil, nil)
                guard connection >= 0 else { return }
                // The thread ends with its connection, and the connection with the client's.
                Thread.detachNewThread { Self.serve(connection, head, script) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(
        _ connection: Int32, _ head: @Sendable (String) -> Bool, _ script: Script
    ) {
        defer { close(connection) }
        var buffer: [UInt8] = []
        while let request = read(connection, &buffer, head) {
            switch script(request) {
            case .answer(let response):
                var text = "HTTP/1.1 \(response.status) X\r\nContent-Length: \(response.body.count)\r\n"
                if response.status == 204 { text = "HTTP/1.1 204 X\r\n" }
                for (name, value) in response.headers { text += "\(name): \(value)\r\n" }
                write(connection, Array((text + "\r\n").utf8) + response.body)
            case .raw(let text):
                write(connection, Array(text.utf8))
                return
            case .hangUp: return
            case .silence:
                var byte: UInt8 = 0
                while recv(connection, &byte, 1, 0) > 0 {}
                return
            }
        }
    }

    private static func read(
        _ connection: Int32, _ buffer: inout [UInt8], _ head: (String) -> Bool
    ) -> HTTPRequest? {
        var end: Int?
        while true {
            end = buffer.indices.first { buffer[$0...].starts(with: Array("\r\n\r\n".utf8)) }
            if end != nil { break }
            guard fill(&buffer, connection) else { return nil }
        }
        let lines = String(decoding: buffer[..<end!], as: UTF8.self).components(separatedBy: "\r\n")
        guard head(lines[0]) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[String(parts[0])] = parts.last.map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let length = headers.first { $0.key.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        buffer.removeFirst(end! + 4)
        while buffer.count < length { guard fill(&buffer, connection) else { return nil } }
        let body = Data(buffer[..<length])
        buffer.removeFirst(length)
        let words = lines[0].split(separator: " ")
        return HTTPRequest(
            method: String(words[0]), url: URL(string: "http://127.0.0.1\(words[1])")!, headers: headers,
            body: length > 0 ? body : nil)
    }

    private static func fill(_ buffer: inout [UInt8], _ connection: Int32) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        let count = recv(connection, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    private static func write(_ connection: Int32, _ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
