import Expectations
import Testing

@testable import presence_load

@Suite struct UpgradeTests {
    private func upgrade() throws -> (upgrade: Upgrade, accept: String) {
        let upgrade = Upgrade(endpoint: try Endpoint(url: "ws://127.0.0.1:4040/v1/ws"))
        let lines = String(decoding: upgrade.request, as: UTF8.self).split(separator: "\r\n")
        let key = try #require(lines.first { $0.hasPrefix("Sec-WebSocket-Key: ") }).dropFirst(19)
        return (upgrade, Upgrade.accept(String(key)))
    }

    private func judge(_ upgrade: Upgrade, _ answer: String) -> Upgrade.Answer {
        Array(answer.utf8).withUnsafeBytes { upgrade.judge($0) }
    }

    @Test func `the accept key is the one of RFC 6455`() {
        expect(Upgrade.accept("dGhlIHNhbXBsZSBub25jZQ=="), equals: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func `the request asks for the protocol's path, host and subprotocol`() throws {
        let request = String(decoding: try upgrade().upgrade.request, as: UTF8.self)
        expect(request.hasPrefix("GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:4040\r\n"))
        expect(request.contains("\r\nSec-WebSocket-Protocol: presence.v1\r\n"))
        expect(request.hasSuffix("\r\n\r\n"))
    }

    @Test func `a right answer is accepted with its length, whatever follows`() throws {
        let (upgrade, accept) = try upgrade()
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nsec-websocket-accept: \(accept)\r\n\r\n"
        expect(judge(upgrade, head), equals: .accepted(length: head.utf8.count))
        expect(judge(upgrade, head + "\u{1}x"), equals: .accepted(length: head.utf8.count))
        for end in [0, 3, head.count - 1] { expect(judge(upgrade, String(head.prefix(end))), equals: .incomplete) }
    }

    @Test func `another status, a wrong key and an endless head are refused`() throws {
        let (upgrade, _) = try upgrade()
        expect(
            judge(upgrade, "HTTP/1.1 503 Service Unavailable\r\n\r\n"),
            equals: .refused("the upgrade was answered HTTP/1.1 503 Service Unavailable"))
        let wrong = judge(upgrade, "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: abc\r\n\r\n")
        expect(wrong, equals: .refused("the upgrade was answered without the right accept key"))
        let endless = judge(upgrade, String(repeating: "x", count: Upgrade.longestHead + 1))
        expect(endless, equals: .refused("an endless HTTP answer"))
    }
}
