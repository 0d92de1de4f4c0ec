import Expectations
import Testing
import WebSockets

struct FrameTests {
    @Test(arguments: [
        (0, [0x81, 0]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]), (65_535, [0x81, 126, 255, 255]),
        (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ])
    func `a header has the length in the shortest form`(length: Int, header: [UInt8]) {
        expect(WebSocketFrame.header(textLength: length), equals: header)
    }

    @Test func `frames are appended one behind the other`() {
        var bytes: [UInt8] = []
        WebSocketFrame.append(text: "a".utf8, to: &bytes)
        WebSocketFrame.append(text: "bc".utf8, to: &bytes)
        expect(bytes, equals: [0x81, 1, 97, 0x81, 2, 98, 99])
        expect(WebSocketFrame.text("a".utf8), equals: [0x81, 1, 97])
    }

    @Test func `a close frame has its code and a reason of at most 123 bytes`() {
        expect(WebSocketFrame.close(code: 1012, reason: "x"), equals: [0x88, 3, 0x03, 0xf4, 120])
        expect(WebSocketFrame.close(code: 1000, reason: String(repeating: "x", count: 123)).count, equals: 127)
        expect(WebSocketFrame.close(code: 1000, reason: String(repeating: "x", count: 124)).count, equals: 127)
    }
}

struct WebSocketURLTests {
    @Test(arguments: [
        ("ws://localhost", false, "localhost", 80, "/"),
        ("wss://example.com/v1/ws", true, "example.com", 443, "/v1/ws"),
        ("WS://127.0.0.1:8080/a?b=c#d", false, "127.0.0.1", 8080, "/a?b=c"),
        ("ws://[::1]:9000?x", false, "::1", 9000, "/?x"),
        ("ws://[::1]", false, "::1", 80, "/"),
    ])
    func `an address is understood`(text: String, secure: Bool, host: String, port: Int, path: String) {
        expect(WebSocketURL(text), equals: WebSocketURL(isSecure: secure, host: host, port: port, path: path))
    }

    @Test(arguments: [
        "", "localhost", "http://localhost", "ws://", "ws://:80", "ws://h:0", "ws://h:65536", "ws://h:x", "ws://[::1",
        "ws://[::1]x", "ws://user@host", "ws://h/a b", "ws://h/\r\nX: y",
    ])
    func `an invalid address is rejected`(text: String) {
        expect(WebSocketURL(text), equals: nil)
    }

    @Test func `it is written as it is read`() {
        for text in ["ws://localhost/", "wss://h:8443/x?y", "ws://[::1]:9000/z"] {
            expect(WebSocketURL(text)?.description, equals: text)
        }
    }
}
