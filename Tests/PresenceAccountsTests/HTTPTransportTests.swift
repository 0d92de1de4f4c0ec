import EventLoops
import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import TestSupport
import Testing

/// Uploads and downloads with URLSession, over real sockets.
@Suite(.timeLimit(.minutes(1))) struct HTTPTransportTests {
    private func file(_ data: Data) throws -> (TemporaryDirectory, URL) {
        let directory = try TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.file("upload"))
        try data.write(to: url)
        return (directory, url)
    }

    @Test func `a file is sent unchanged, and its progress increases up to the whole file`() async throws {
        let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let (directory, url) = try file(data)
        let received = Locked<HTTPRequest?>(nil)
        let server = try ScriptedServer { request in
            received.withLock { $0 = request }
            return .answer(.json("{}", status: 201))
        }
        let sent = Locked<[Int]>([])
        let request = HTTPRequest(
            method: "POST", url: server.url, headers: ["Content-Type": "video/mp4"], bodyFile: url)
        let answer = try await URLSessionHTTPTransport().send(request) { count in sent.withLock { $0.append(count) } }
        expect(answer.status, equals: 201)
        let got = try #require(received.withLock { $0 })
        expect(got.body == data && got.headers["Content-Type"] == "video/mp4" && got.method == "POST")
        expect(got.headers["Content-Length"] == "3000000" && got.headers["Transfer-Encoding"] == nil)
        let parts = sent.withLock { $0 }
        expect(parts == parts.sorted() && parts.last == data.count && parts.count > 2)
        _ = directory
    }

    @Test func `a missing file does not crash the process, and nothing is sent`() async throws {
        let (directory, url) = try file(Data("abc".utf8))
        let request = HTTPRequest(
            method: "POST", url: URL(string: "http://127.0.0.1:\(try FreePort.find())")!,
            bodyFile: url.appendingPathExtension("gone"))
        let failure = await #expect(throws: HTTPFailure.self) {
            try await URLSessionHTTPTransport().send(request, progress: nil)
        }
        expect(failure?.wasSent, equals: false)
        _ = directory
    }

    @Test func `a server that closes in the middle of an upload is a lost connection`() async throws {
        let (directory, url) = try file(Data(count: 3_000_000))
        let server = try ScriptedServer(head: { _ in false }) { _ in .hangUp }
        let failure = await #expect(throws: HTTPFailure.self) {
            try await URLSessionHTTPTransport().send(
                HTTPRequest(method: "POST", url: server.url, bodyFile: url), progress: nil)
        }
        expect(failure?.wasSent, equals: true)
        _ = directory
    }

    // MARK: Downloads

    private func download(
        _ url: URL, to file: URL, progress: @escaping @Sendable (Int, Int?) -> Void = { _, _ in }
    ) -> HTTPRequest {
        HTTPRequest(method: "GET", url: url, download: .init(to: file, progress: progress))
    }

    @Test func `a long answer is written to a file, however long it is`() async throws {
        let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let (directory, url) = try file(Data())
        let server = try ScriptedServer { _ in
            .answer(HTTPResponse(status: 200, headers: ["Content-Type": "application/x-tar"], body: data))
        }
        let parts = Locked<[Int]>([])
        let request = download(server.url, to: url) { bytes, all in parts.withLock { $0 += [bytes, all ?? -1] } }
        let answer = try await URLSessionHTTPTransport().send(request, progress: nil)
        expect(answer.status == 200 && answer.body.isEmpty)
        try expect(Data(contentsOf: url), equals: data)
        let seen = parts.withLock { $0 }
        expect(seen.suffix(2) == [3_000_000, 3_000_000] && seen.count >= 4)
        _ = directory
    }

    @Test func `an error is in the answer, and not in the file`() async throws {
        let (directory, url) = try file(Data())
        let server = try ScriptedServer { _ in .answer(.error(429, "rate_limited", retryAfter: 5_000)) }
        let answer = try await URLSessionHTTPTransport().send(download(server.url, to: url), progress: nil)
        expect(answer.status == 429 && HTTPRefusal(answer).code == "rate_limited")
        try expect(Data(contentsOf: url).isEmpty)
        _ = directory
    }

    @Test func `a download that breaks, or cannot be written, is a failure`() async throws {
        let (directory, url) = try file(Data())
        let server = try ScriptedServer { _ in .raw("HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nabc") }
        let broken = await #expect(throws: HTTPFailure.self) {
            try await URLSessionHTTPTransport().send(download(server.url, to: url), progress: nil)
        }
        expect(broken?.wasSent == true && broken?.isOfFile == false)
        let nowhere = await #expect(throws: HTTPFailure.self) {
            try await URLSessionHTTPTransport().send(
                download(server.url, to: url.appendingPathComponent("none")), progress: nil)
        }
        expect(nowhere?.isOfFile, equals: true)
        let full = await #expect(throws: HTTPFailure.self) {
            try await URLSessionHTTPTransport().send(
                download(server.url, to: URL(fileURLWithPath: "/dev/full")), progress: nil)
        }
        expect(full?.isOfFile, equals: true)
        _ = directory
    }

    /// At most moments of an upload: while parts of the file are read and sent, the server closes or the upload is
    /// cancelled.
    @Test func `uploads that are cancelled at any moment do not crash the process`() async throws {
        let (directory, url) = try file(Data(count: 600_000))
        let server = try ScriptedServer(head: { _ in false }) { _ in .hangUp }
        let reading = try ScriptedServer { _ in .answer(.json("{}")) }
        let transport = URLSessionHTTPTransport()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                if number >= 8 { await group.next() }
                group.addTask {
                    let to = number.isMultiple(of: 2) ? server.url : reading.url
                    let upload = Task {
                        try await transport.send(HTTPRequest(method: "POST", url: to, bodyFile: url), progress: nil)
                    }
                    try? await Task.sleep(for: .microseconds(number * 37 % 4_000))
                    upload.cancel()
                    _ = await upload.result
                }
            }
        }
        _ = directory
    }
}
