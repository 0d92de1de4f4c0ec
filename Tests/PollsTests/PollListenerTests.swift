import Expectations
import Glibc
import TestSupport
import Testing

@testable import PresenceCore

/// A server for one call at a time, over a blocking socket.
private final class CallTaker: Sendable {
    let port: Int
    private let socket: Int32

    struct NoCall: Error {}

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // `accept` ends after a while, so that a failing test does not hang.
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let isOpen = withUnsafeMutablePointer(to: &address) { [socket] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, size) == 0 && listen(socket, 8) == 0 && getsockname(socket, $0, &size) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isOpen else { throw NoCall() }
    }

    deinit { close(socket) }

    /// Accepts the next call, answers with this status, and returns the request.
    func receive(answer status: String) throws -> String {
        let client = accept(socket, nil, nil)
        guard client >= 0 else { throw NoCall() }
        defer { close(client) }
        var call = ""
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while !call.hasSuffix("}") {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { throw NoCall() }
            call += String(decoding: buffer[..<count], as: UTF8.self)
        }
        let answer = "HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        guard send(client, answer, answer.utf8.count, Int32(MSG_NOSIGNAL)) > 0 else { throw NoCall() }
        return call
    }
}

/// A feature can notify other servers without waiting for them.
@Suite(.timeLimit(.minutes(2))) struct PollListenerTests {
    @Test func `another server is notified when a poll ends, and one that fails or is gone delays nothing`()
        async throws
    {
        let taker = try CallTaker()
        try await PicturesTests.withScene({
            $0[Polls.duration] = 1
            $0[PollListener.address] = "http://127.0.0.1:\(taker.port)/ended"
        }) { scene in
            let client = try PollsClient(port: scene.port)
            try client.send(#"{"type":"connect","id":1,"token":"\#(scene.ana)"}"#)
            try client.receive("connected")
            func vote(_ id: Int, _ poll: String) throws {
                try client.send(#"{"type":"vote","id":\#(id),"poll":"\#(poll)","choice":"soup"}"#)
                try client.receive(#""type":"voted","id":\#(id)"#)
            }
            try vote(2, "lunch")
            let call = try taker.receive(answer: "204 No Content")
            expect(call.hasPrefix("POST /ended HTTP/1.1\r\n") && call.hasSuffix(#"{"poll":"lunch"}"#), "\(call)")
            try scene.wait(until: "poll_ends_told_total", is: 1)
            // Users vote while this call waits for its answer.
            try vote(3, "dinner")
            try vote(4, "tea")
            try expect(taker.receive(answer: "500 Internal Server Error").hasSuffix(#"{"poll":"dinner"}"#))
            try scene.wait(until: "poll_ends_missed_total", is: 1)
            try expect(taker.receive(answer: "200 OK").hasSuffix(#"{"poll":"tea"}"#))
            try scene.wait(until: "poll_ends_told_total", is: 2)
        }
        // No server listens there any more.
        let gone = try FreePort.find()
        try await PicturesTests.withScene({
            $0[Polls.duration] = 1
            $0[PollListener.address] = "http://127.0.0.1:\(gone)/ended"
        }) { scene in
            let client = try PollsClient(port: scene.port)
            try client.send(#"{"type":"connect","id":1,"token":"\#(scene.ana)"}"#)
            try client.receive("connected")
            try client.send(#"{"type":"vote","id":2,"poll":"lunch","choice":"soup"}"#)
            try client.receive(#""type":"voted","id":2"#)
            try scene.wait(until: "poll_ends_missed_total", is: 1)
        }
    }
}
