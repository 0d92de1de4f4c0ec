import Glibc

/// A server's metrics at one moment, from its `/metrics` page: Prometheus text, by series.
struct ServerMetrics: Equatable {
    /// By the series' name with its labels, without the prefix `presence_`.
    let values: [String: Double]

    /// Lines that are not `NAME VALUE`, such as comments, are skipped.
    init(page: String) {
        var values: [String: Double] = [:]
        for line in page.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                continue
            }
            let name = line[..<space]
            values[String(name.hasPrefix("presence_") ? name.dropFirst("presence_".count) : name)] = value
        }
        self.values = values
    }

    /// Reads the metrics from the server, which may take five seconds to answer.
    init(of endpoint: Endpoint) throws(Failure) {
        let page = try Self.get("/metrics", from: endpoint)
        guard let head = page.firstRange(of: "\r\n\r\n"), page.hasPrefix("HTTP/1.1 200") else {
            throw Failure("the server at \(endpoint.url) shows no metrics")
        }
        self.init(page: String(page[head.upperBound...]))
    }

    subscript(_ name: String) -> Double { values[name] ?? 0 }

    /// Whether the server was restarted since `before`: a counter is smaller.
    func isRestarted(since before: ServerMetrics) -> Bool {
        values.contains { $0.key.hasSuffix("_total") && $0.value < before[$0.key] }
    }

    private static func get(_ path: String, from endpoint: Endpoint) throws(Failure) -> String {
        func failed() -> Failure { Failure("cannot read the metrics at \(endpoint.url): \(Failure.reason())") }
        let descriptor = socket(endpoint.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failed() }
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        let status = endpoint.address.withUnsafeBytes { bytes in
            connect(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard status == 0 else { throw failed() }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: \(endpoint.authority)\r\nConnection: close\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { throw failed() }
        var answer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16_384)
        while !isWhole(answer) {
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count >= 0 else { throw failed() }
            guard count > 0 else { break }
            answer += piece[..<count]
        }
        return String(decoding: answer, as: UTF8.self)
    }

    /// Whether all bytes of `Content-Length` have arrived; without one the answer ends with the connection.
    private static func isWhole(_ answer: [UInt8]) -> Bool {
        guard let end = answer.withUnsafeBytes(Upgrade.endOfHead) else { return false }
        let head = String(decoding: answer[..<end], as: UTF8.self).lowercased()
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).filter(\.isNumber)) }
        return length.map { answer.count >= end + $0 } ?? false
    }
}
