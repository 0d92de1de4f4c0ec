import Expectations
import Foundation
import Testing

@testable import presence_load

@Suite(.timeLimit(.minutes(1))) struct AccountsTests {
    @Test func `each kind of call is counted and timed, and tokens are used once`() throws {
        let server = try AnsweringServer()
        let report = try measure(server, "--people", "6", "--calls", "9", "--sign-ins", "8", "--burst", "0")
        expect(report.failures, equals: [])
        expect(report.measured.map(\.name), equals: ["sign-ups", "sign-ins", "refreshes", "GET /v1/me", "name checks"])
        expect(report.measured.map(\.calls), equals: [6, 8, 9, 9, 9])
        expect(report.measured.allSatisfy { $0.latencyMilliseconds?.count == $0.calls && $0.callsPerSecond > 0 })
        let seen = server.seen
        expect(seen.count, equals: 41)
        // The six tokens and nine refreshes include three of a second round, with the first round's tokens.
        let shown = seen.compactMap { $0.firstMatch(of: /"refreshToken":"(\w+)"/).map { String($0.1) } }
        expect(shown.count == 9 && Set(shown).count == 9)
        expect(seen.filter { $0.hasPrefix("GET /v1/me ") }.allSatisfy { $0.contains("Authorization: Bearer A") })
    }

    @Test func `an unexpected answer is reported, with its status`() throws {
        let server = try AnsweringServer { $0.hasPrefix("GET /v1/me ") ? (500, "", "{}") : nil }
        let report = try measure(server, "--people", "2", "--calls", "3", "--sign-ins", "2", "--burst", "0")
        expect(report.failures, equals: ["3 of the GET /v1/me were answered 500"])
    }

    @Test func `a rejected call gets the time to retry, in head and body`() throws {
        let server = try AnsweringServer { request in
            guard request.hasPrefix("POST /v1/sessions ") else { return nil }
            if request.contains("-0@") { return (503, "Retry-After: 2\r\n", #"{"retryAfter":2000}"#) }
            return request.contains("-1@") ? (503, "", #"{"retryAfter":2000}"#) : nil
        }
        defer { server.stop() }
        var people = try accounts(server, people: 3)
        let burst = try people.burst(9)
        expect(burst.signedIn == 3 && burst.told == 3 && burst.failed == [503: 3])
        expect(burst.signedInMilliseconds?.count == 3 && burst.toldMilliseconds?.count == 3)
    }

    @Test func `answers come in pieces, and end with their length`() throws {
        let text =
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\nContent-Length: 19\r\n\r\n{\"retryAfter\":3000}"
        let bytes = Array(text.utf8)
        for count in 0..<bytes.count { try expect(HTTPAnswer(Array(bytes[..<count])), equals: nil) }
        let answer = try #require(try HTTPAnswer(bytes))
        expect(answer.status == 503 && answer.retryAfter == 3 && answer.saysWhen)
        try expect(HTTPAnswer(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))?.status, equals: 204)
        #expect(throws: Failure.self) { try HTTPAnswer(Array("SSH-2.0-x\r\n\r\n".utf8)) }
    }

    @Test func `options that cannot be measured are rejected`() {
        for flags in [["--people", "10", "--burst", "31"], ["--at-once", "33"], ["--people", "0"]] {
            #expect(throws: (any Error).self) { try AccountsCommand.parse(flags) }
        }
    }

    private func measure(_ server: AnsweringServer, _ flags: String...) throws -> AccountsReport {
        defer { server.stop() }
        return try AccountsCommand.parse(["--url", server.url] + flags).measure()
    }

    private func accounts(_ server: AnsweringServer, people: Int) throws -> AccountsRun {
        let endpoint = try Endpoint(url: server.url)
        let sources = try SourceAddresses(connections: 100, first: nil, endpoint: endpoint)
        return AccountsRun(
            clients: HTTPClients(endpoint: endpoint, sources: sources, patience: .seconds(20)), people: people,
            name: "test", atOnce: 2)
    }
}

/// A server that answers each request like accounts, with distinct tokens, in a thread of its own.
///
/// Unsafe: the lock guards its records and counts; the rest never changes.
final class AnsweringServer: @unchecked Sendable {
    let url: String
    private let listening: Int32
    private let lock = NSLock()
    private var requests: [String] = []
    private let answer: @Sendable (String) -> (Int, String, String)?

    /// - Parameter answer: status, further lines of the head and body; `nil`: as a server of accounts.
    init(_ answer: @escaping @Sendable (String) -> (Int, String, String)? = { _ in nil }) throws {
        self.answer = answer
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = try withUnsafeMutableBytes(of: &address) { bytes in
            let generic = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            try #require(bind(descriptor, generic, size) == 0 && listen(descriptor, 64) == 0)
            try #require(getsockname(descriptor, generic, &size) == 0)
            return UInt16(bigEndian: bytes.baseAddress!.assumingMemoryBound(to: sockaddr_in.self).pointee.sin_port)
        }
        url = "ws://127.0.0.1:\(port)/v1/ws"
        listening = descriptor
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { break }
                serve(client)
                close(client)
            }
            close(descriptor)
        }
    }

    /// The received requests, each complete.
    var seen: [String] { lock.withLock { requests } }

    func stop() { shutdown(listening, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32) {
        var text = ""
        while !isWhole(text) {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = recv(client, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            text += String(decoding: bytes[..<count], as: UTF8.self)
        }
        let number = lock.withLock {
            requests.append(text)
            return requests.count
        }
        let tokens = #"{"accessToken":"A\#(number)","refreshToken":"R\#(number)"}"#
        let (status, head, body) = answer(text) ?? (text.hasPrefix("POST /v1/accounts ") ? 201 : 200, "", tokens)
        let reply = "HTTP/1.1 \(status) X\r\n\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        _ = Array(reply.utf8).withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    private func isWhole(_ text: String) -> Bool {
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        let length = text.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) } ?? 0
        return text[end.upperBound...].utf8.count >= length
    }
}
