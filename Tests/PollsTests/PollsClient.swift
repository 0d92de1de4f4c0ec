import Foundation

@testable import TestSupport

/// A client that speaks JSON over a blocking socket.
final class PollsClient {
    private let client: RawClient
    private var heard: [String] = []

    init(port: Int) throws {
        client = try RawClient(port: port)
        try client.send(RawClient.upgrade(path: "/v1/ws"))
        guard try client.readHead().hasPrefix("HTTP/1.1 101 ") else { throw RawClient.Ended() }
    }

    /// Runs a blocking function on a thread of its own: the servers need the few threads of Swift's pool.
    static func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    func send(_ text: String) throws { try client.send(text: text) }

    /// Waits for a message that contains this text, in any order.
    func receive(_ part: String) throws {
        while !heard.contains(where: { $0.contains(part) }) { heard.append(try client.readFrame().text) }
    }

    /// The numbers of the comments received, in order.
    var comments: [Int] {
        heard.compactMap { text in
            guard text.hasPrefix(#"{"type":"comment","#), let number = text.firstRange(of: #""number":"#) else {
                return nil
            }
            return Int(text[number.upperBound...].prefix { $0.isNumber })
        }
    }

    static func get(_ path: String, port: Int, token: String) throws -> String {
        let client = try RawClient(port: port)
        try client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n")
        let response = try client.readResponse()
        return response.head + response.text
    }
}
