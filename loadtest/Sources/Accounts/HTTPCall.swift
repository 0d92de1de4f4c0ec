import Foundation

/// A request over a connection of its own.
struct HTTPCall {
    var method: String
    var path: String
    var token: String?
    /// JSON.
    var body: String?

    func bytes(authority: String) -> [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        return Array((head + "\r\n" + (body ?? "")).utf8)
    }
}

/// The answer to a call.
struct HTTPAnswer: Equatable {
    var status: Int
    var body: [UInt8]
    /// Seconds, from the header.
    var retryAfter: Int?

    /// - Returns: `nil` while bytes are missing. Answers have a length, or end with their head.
    /// - Throws: if they are not an answer.
    init?(_ bytes: [UInt8]) throws(Failure) {
        let end = Array("\r\n\r\n".utf8)
        guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
        let lines = String(decoding: bytes[..<place], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw Failure("the server answered \(lines[0])")
        }
        self.status = status
        var length = 0
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw Failure("the server's head has the line \(line)") }
            let value = Int(parts[1].trimmingCharacters(in: .whitespaces))
            switch parts[0].lowercased() {
            case "content-length": length = value ?? 0
            case "retry-after": retryAfter = value
            default: break
            }
        }
        body = Array(bytes[(place + end.count)...])
        guard body.count >= length else { return nil }
    }

    /// Whether the body also has the time to retry, in milliseconds.
    var saysWhen: Bool {
        struct Refusal: Decodable { var retryAfter: Int }
        return retryAfter != nil && (try? JSONDecoder().decode(Refusal.self, from: Data(body))) != nil
    }
}
