import EventLoops
import Expectations
import Foundation
import PresenceTesting
import TestSupport
import Testing

@testable import PresenceKit
@testable import PresenceMessages

/// Attachments, with a fake HTTP transport.
@Suite(.timeLimit(.minutes(1))) struct UploadTests {
    private static let stored = """
        {"attachment":{"id":"f1","kind":"file","url":"https://example.org/f1.bin","sizeBytes":3,"name":"a"}}
        """
    private static let attachment = MessageAttachment(
        id: "f1", type: .file, url: "https://example.org/f1.bin", sizeBytes: 3)
    private static let file = AttachmentFile(Data("abc".utf8), name: "Größe 1.pdf")

    private static func answered(_ status: Int = 201, _ text: String = stored) -> FakeHTTPTransport.Answer {
        { _ in .json(text, status: status) }
    }

    /// A connected client, so that its user is known.
    private static func scene() async -> Scene {
        let scene = Scene()
        await scene.connected()
        return scene
    }

    /// The steps of an upload.
    private static func steps(
        _ scene: Scene, _ file: AttachmentFile = file, to conversation: String = "c1"
    ) async throws -> [Upload<MessageAttachment>] {
        try await scene.messages.upload(file, to: conversation).reduce(into: []) { $0.append($1) }
    }

    private static func failure(_ scene: Scene, _ file: AttachmentFile = file) async -> PresenceError? {
        await #expect(throws: PresenceError.self) { try await steps(scene, file) }
    }

    @Test func `a file is uploaded for its conversation, with progress, and sent with a message`() async throws {
        let scene = await Self.scene()
        scene.transport.respond(Self.answered())
        try await expect(Self.steps(scene), equals: [.progress(1), .saved(Self.attachment)])
        let request = try #require(scene.transport.requests.first)
        expect(request.method, equals: "POST")
        expect(
            request.url.absoluteString,
            equals: "http://example.org/v1/conversations/c1/attachments?name=Gr%C3%B6%C3%9Fe%201.pdf")
        expect(request.headers["Authorization"] == "Bearer t" && request.headers["Content-Type"] == "application/pdf")
        expect(request.body == Data("abc".utf8) && request.bodyFile == nil && request.timeout == .seconds(60))

        try await scene.messages.send("", in: "c1", attachments: [Self.attachment])
        let list = await scene.list { $0.last?.status == .sent }
        expect(list.last?.attachments, equals: [Self.attachment])
    }

    @Test func `a file on the disk is not read into memory, and a link is resolved`() async throws {
        let scene = await Self.scene()
        scene.transport.respond(Self.answered())
        let directory = try TemporaryDirectory()
        let url = URL(fileURLWithPath: directory.file("beach.JPG"))
        let link = URL(fileURLWithPath: directory.file("link"))
        try Data("abc".utf8).write(to: url)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
        for file in [AttachmentFile(file: url), AttachmentFile(file: link, contentType: "image/jpeg")] {
            try await expect(Self.steps(scene, file).last, equals: .saved(Self.attachment))
        }
        let requests = scene.transport.requests
        expect(requests.map(\.body), equals: [nil, nil])
        expect(requests.allSatisfy { $0.bodyFile?.lastPathComponent == "beach.JPG" })
        expect(requests.map { $0.headers["Content-Type"] }, equals: ["image/jpeg", "image/jpeg"])
        expect(requests.map(\.url.query), equals: ["name=beach.JPG", "name=link"])
    }

    @Test func `a file that no server accepts is not sent`() async throws {
        let scene = await Self.scene()
        let directory = try TemporaryDirectory()
        let (folder, none) = (directory.path, directory.file("none"))
        for file in [
            AttachmentFile(Data()), AttachmentFile(file: URL(fileURLWithPath: folder)),
            AttachmentFile(file: URL(fileURLWithPath: none)),
        ] {
            let error = await Self.failure(scene, file)
            expect(error?.code == .validationFailed && error?.field == "file")
        }
        for type in ["", "text", "a/b/c", "text/plain\r\nX: y"] {
            let error = await Self.failure(scene, AttachmentFile(Data("a".utf8), contentType: type))
            expect(error?.code == .validationFailed && error?.field == "contentType")
        }
        await #expect(throws: PresenceError.self) { try await Self.steps(scene, to: "no id") }
        expect(scene.transport.requests.isEmpty)
    }

    @Test(arguments: [
        (403, "forbidden", nil, PresenceError.Code.forbidden, nil), (404, "not_found", nil, .notOffered, nil),
        (413, "too_large", "attachment_too_large", .tooLarge, nil),
        (422, "validation_failed", "attachment_not_an_image", .validationFailed, "file"),
        (429, "rate_limited", nil, .rateLimited, nil), (503, "unavailable", nil, .unavailable, nil),
    ])
    func `a rejection by the server has its reason`(
        status: Int, code: String, reason: String?, expected: PresenceError.Code, field: String?
    ) async throws {
        let scene = await Self.scene()
        scene.transport.respond { _ in .error(status, code, reason: reason, message: "why", retryAfter: 3_000) }
        let error = await Self.failure(scene)
        expect(error?.code == expected && error?.field == field && error?.message == "why")
        expect(error?.reason?.rawValue, equals: reason)
        expect(error?.retryAfter == .seconds(3) && error?.outcomeUnknown == false)
        let texts = [
            PresenceError.Code.tooLarge: "That is too large.", .notOffered: "The server does not offer that.",
            .validationFailed: "This file cannot be used.",
        ]
        if let text = texts[expected] { expect(error?.localizedDescription, equals: text) }
        expect(scene.transport.requests.count, equals: 1)
    }

    @Test(arguments: [
        (413, PresenceError.Code.tooLarge), (502, .unavailable), (429, .unavailable), (200, .protocolViolation),
        (302, .protocolViolation),
    ])
    func `a proxy's response is understood too`(status: Int, code: PresenceError.Code) async throws {
        let scene = await Self.scene()
        scene.transport.respond { _ in HTTPResponse(status: status, body: Data("<html>".utf8)) }
        await expect(Self.failure(scene)?.code, equals: code)
    }

    @Test func `a lost connection is retried once, and a repeated call is a retry`() async throws {
        let scene = await Self.scene()
        let tries = Locked(0)
        scene.transport.respond { _ in
            let number = tries.withLock { tries in
                tries += 1
                return tries
            }
            if [1, 3, 4].contains(number) { throw HTTPFailure("cut", wasSent: true) }
            return .json(Self.stored, status: 201)
        }
        try await expect(Self.steps(scene).last, equals: .saved(Self.attachment), "the second try")
        let error = await Self.failure(scene)
        expect(error?.code == .connectionLost && error?.outcomeUnknown == false && tries.withLock { $0 } == 4)
        try await expect(Self.steps(scene).last, equals: .saved(Self.attachment))
        scene.transport.respond { _ in throw HTTPFailure("offline", wasSent: false) }
        await expect(Self.failure(scene)?.code, equals: .notConnected)
        expect(scene.transport.requests.count, equals: 6, "what was not sent is not tried again by itself")
    }

    @Test func `an upload's rejected token is replaced once`() async throws {
        let given = Locked(0)
        let scene = Scene(token: {
            given.withLock { given in
                given += 1
                return "t\(given)"
            }
        })
        await scene.connected()
        scene.transport.respond { request in
            request.headers["Authorization"] == "Bearer t1"
                ? .error(401, "unauthorized", reason: "token_expired") : .json(Self.stored, status: 201)
        }
        try await expect(Self.steps(scene).last, equals: .saved(Self.attachment))
        expect(scene.transport.requests.map { $0.headers["Authorization"] }, equals: ["Bearer t1", "Bearer t2"])

        let fixed = await Self.scene()
        fixed.transport.respond { _ in .error(401, "unauthorized") }
        await expect(Self.failure(fixed)?.code, equals: .unauthorized)
        expect(fixed.transport.requests.count, equals: 1, "the same token again would be refused again")
    }

    @Test func `uploads are sent one after the other, and one cancelled while waiting is not sent`() async throws {
        let scene = await Self.scene()
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let running = Locked((now: 0, most: 0))
        scene.transport.respond { _ in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            arrive.yield()
            for await _ in gate { break }
            running.withLock { $0.now -= 1 }
            return .json(Self.stored, status: 201)
        }
        let first = Task { try await Self.steps(scene).last }
        for await _ in arrivals { break }
        let second = Task { try await Self.steps(scene).last }
        await scene.messages.hasUploads(2)
        let third = Task { try await Self.steps(scene).last }
        await scene.messages.hasUploads(3)
        third.cancel()
        await scene.messages.hasUploads(2)
        for _ in 1...2 { open.yield() }
        try await expect(first.value, equals: .saved(Self.attachment))
        try await expect(second.value, equals: .saved(Self.attachment))
        try await expect(third.value, equals: nil, "the stream of a cancelled task ends")
        expect(scene.transport.requests.count == 2 && running.withLock { $0.most } == 1)
    }

    @Test func `an upload that is cancelled ends, and the next one works`() async throws {
        let scene = await Self.scene()
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        scene.transport.respond { _ in
            arrive.yield()
            try await Task.sleep(for: .seconds(3_600))
            return .json("{}")
        }
        let upload = Task { try await Self.steps(scene).last }
        for await _ in arrivals { break }
        upload.cancel()
        try await expect(upload.value != .saved(Self.attachment))
        scene.transport.respond(Self.answered())
        try await expect(Self.steps(scene).last, equals: .saved(Self.attachment))
    }

    @Test func `a sign-out ends uploads`() async throws {
        let scene = await Self.scene()
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        scene.transport.respond { _ in
            arrive.yield()
            try await Task.sleep(for: .seconds(3_600))
            return .json("{}")
        }
        async let failure = Self.failure(scene)
        for await _ in arrivals { break }
        await scene.client.signOut()
        await expect(failure?.code, equals: .signedOut)
        await expect(Self.failure(scene)?.code, equals: .signedOut, "nobody's")
    }

    @Test(arguments: [
        ("wss://example.org/v1/ws", "https://example.org"), ("ws://127.0.0.1:8080/v1/ws", "http://127.0.0.1:8080"),
        ("wss://example.org/chat/v1/ws?x=1", "https://example.org/chat"),
        ("wss://example.org/ws", "https://example.org/ws"),
    ])
    func `the server's URL is derived from its WebSocket URL`(webSocket: String, address: String) throws {
        expect(HTTPServer.url(of: try #require(URL(string: webSocket))).absoluteString, equals: address)
    }
}

extension PresenceMessenger {
    /// Waits until this many uploads are running or waiting.
    fileprivate func hasUploads(_ count: Int) async {
        while uploads.count != count { await Task.yield() }
    }
}
