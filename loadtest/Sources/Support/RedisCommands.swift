import Glibc

/// The number of commands that a Redis has executed, read over a separate connection, which itself adds two.
enum RedisCommands {
    /// - Parameter path: the Redis' unix socket.
    static func processed(at path: String) throws(Failure) -> Int {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure("cannot open a socket: \(Failure.reason())") }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw Failure("too long: \(path)") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let status = withUnsafeBytes(of: &address) { address in
            connect(
                descriptor, address.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
        }
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let request = Array("INFO stats\r\n".utf8)
        guard status == 0, send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failure("no Redis answers at \(path): \(Failure.reason())")
        }
        let name = "total_commands_processed:"
        var answer = ""
        var piece = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { throw Failure("the Redis at \(path) does not say how many commands it had") }
            answer += String(decoding: piece[..<count], as: UTF8.self)
            let lines = answer.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.hasPrefix(name) }), let number = Int(line.dropFirst(name.count)) {
                return number
            }
        }
    }
}
