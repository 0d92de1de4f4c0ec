import Expectations
import Foundation
import Logging
import PresenceProtocol
import Testing
import Tokens
import WebSockets

@testable import PresenceCore
@testable import PresenceServer
@testable import TestSupport

/// Files over HTTP, over real sockets: uploads are checked by their head, written and read off the loop, and leave
/// nothing behind.
@Suite(.timeLimit(.minutes(2))) struct PicturesTests {
    /// A server with the polls, on two shards, and its clients' tokens.
    struct Scene: Sendable {
        let port: Int
        let directory: String
        let ana: String
        let bob: String
        let backend: String

        func send(
            _ head: String, _ headers: [String] = [], token: String?, body: [UInt8] = [], on client: RawClient? = nil
        ) throws -> RawClient.Response {
            let client = try client ?? RawClient(port: port)
            try client.send(Array(request(head, headers, token: token).utf8) + body)
            return try client.readResponse(hasBody: !head.hasPrefix("HEAD"))
        }

        func request(_ head: String, _ headers: [String] = [], token: String?) -> String {
            let lines =
                ["\(head) HTTP/1.1", "Host: h"] + (token.map { ["Authorization: Bearer \($0)"] } ?? []) + headers
            return lines.joined(separator: "\r\n") + "\r\n\r\n"
        }

        func put(_ poll: String, _ body: [UInt8], token: String, _ more: [String] = []) throws -> RawClient.Response {
            try send(
                "PUT /v1/polls/\(poll)/picture", ["Content-Type: image/jpeg", "Content-Length: \(body.count)"] + more,
                token: token, body: body)
        }

        var files: [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).filter { $0.hasPrefix("poll") }
        }

        /// The number of the process's open files without a name.
        var nameless: Int {
            ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count {
                let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) ?? ""
                return target.hasPrefix(directory) && target.hasSuffix("(deleted)")
            }
        }

        func metric(_ name: String) throws -> Int {
            let page = try send("GET /metrics", token: nil).text
            let line = page.split(separator: "\n").first { $0.hasPrefix("presence_\(name) ") }
            return Int(line?.split(separator: " ").last ?? "") ?? -1
        }

        func wait(until name: String, is value: Int) throws {
            while try metric(name) != value { usleep(2_000) }
        }
    }

    static func withScene(
        _ adjust: (inout ServerConfiguration) -> Void = { _ in }, _ body: @escaping @Sendable (Scene) throws -> Void
    ) async throws {
        let redis = try RedisServer()
        let directory = try TemporaryDirectory()
        let secret = TokenSecret()
        var configuration = ServerConfiguration()
        (configuration.port, configuration.shards, configuration.dataDirectory) = (0, 2, directory.path)
        adjust(&configuration)
        let server = Server(
            configuration: configuration,
            authenticator: try await Authenticator(configuration: configuration.auth, secret: secret),
            redis: redis.url, logger: Logger(label: "polls") { _ in SwiftLogNoOpLogHandler() },
            features: Features.all + [Polls.self])
        let port = try await server.start()
        let now = Timestamp(Date().timeIntervalSince1970 * 1_000)
        let maker = TokenMaker(secret: secret)
        let scene = Scene(
            port: port, directory: directory.path,
            ana: try maker.make(user: UserID("ana")!, lifetime: 600_000, now: now),
            bob: try maker.make(user: UserID("bob")!, lifetime: 600_000, now: now),
            backend: try maker.make(user: UserID("backend")!, lifetime: 600_000, role: .backend, now: now))
        do {
            try await PollsClient.onThread { try body(scene) }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    static let picture = (0..<5 * 1024 * 1024).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }

    @Test func `a file is uploaded and downloaded unchanged, whole or in part`() async throws {
        try await Self.withScene { scene in
            let picture = Self.picture
            let put = try scene.put("lunch", picture, token: scene.ana)
            expect(put.status == 201 && put.text == #"{"bytes":5242880}"#, "\(put.head)")
            expect(scene.files.count, equals: 1)
            let client = try RawClient(port: scene.port)
            func get(_ headers: [String] = [], _ method: String = "GET") throws -> RawClient.Response {
                try scene.send("\(method) /v1/polls/lunch/picture", headers, token: scene.bob, on: client)
            }
            let whole = try get()
            expect(whole.status == 200 && whole.body == picture)
            for header in [
                "Content-Type: image/jpeg", "X-Content-Type-Options: nosniff", "Cache-Control: private, max-age=60",
                "Accept-Ranges: bytes", "Content-Length: 5242880", "Last-Modified: ",
            ] { expect(whole.head.contains(header), "\(header)") }
            let tag = try #require(whole.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }).dropFirst(6)
            // The client has it already.
            for known in ["\(tag)", "\"x\", W/\(tag)", "*"] {
                let response = try get(["If-None-Match: \(known)"])
                expect(response.status == 304 && response.head.contains("ETag: \(tag)"), "\(known)")
            }
            try expect(get(["If-None-Match: \"x\""]).status, equals: 200)
            let date = try #require(whole.head.split(separator: "\r\n").first { $0.hasPrefix("Last-Modified") })
                .dropFirst(15)
            try expect(get(["If-Modified-Since: \(date)"]).status, equals: 304)
            // Parts.
            for (range, wanted) in [
                ("0-0", 0..<1), ("100-", 100..<picture.count), ("-5", picture.count - 5..<picture.count),
                ("70000-300000", 70_000..<300_001), ("5242879-99999999999999999999", 5_242_879..<5_242_880),
                ("-99999999", 0..<picture.count),
            ] {
                let part = try get(["Range: bytes=\(range)"])
                expect(part.status == 206 && part.body == Array(picture[wanted]), "\(range)")
                expect(
                    part.head.contains("Content-Range: bytes \(wanted.lowerBound)-\(wanted.upperBound - 1)/5242880\r\n")
                )
            }
            for range in ["5242880-", "99999999-", "-0"] {
                let none = try get(["Range: bytes=\(range)"])
                expect(none.status == 416 && none.head.contains("Content-Range: bytes */5242880\r\n"), "\(range)")
            }
            // Ranges that a server may ignore are answered with the whole file.
            for range in ["bytes=0-1,3-4", "lines=1-2", "bytes=5-1", "bytes=a-b", "bytes=-"] {
                try expect(get(["Range: \(range)"]).status, equals: 200, "\(range)")
            }
            try expect(get(["Range: bytes=0-9", "If-Range: \(tag)"]).status, equals: 206)
            try expect(get(["Range: bytes=0-9", "If-Range: \"old\""]).status, equals: 200)
            let head = try get([], "HEAD")
            expect(head.status == 200 && head.head.contains("Content-Length: 5242880\r\n"))
            // A new picture replaces it, with another tag.
            try expect(scene.put("lunch", Array(picture[..<70_000]), token: scene.ana).status, equals: 201)
            let next = try get(["If-None-Match: \(tag)"])
            expect(next.status == 200 && next.body.count == 70_000 && scene.files.count == 1)
            try expect(scene.send("GET /v1/polls/none/picture", token: scene.ana).status, equals: 404)
            try expect(scene.metric("poll_pictures_total"), equals: 2)
            try scene.wait(until: "http_uploads", is: 0)
            try scene.wait(until: "http_downloads", is: 0)
        }
    }

    @Test func `an upload is rejected by its head alone`() async throws {
        try await Self.withScene { scene in
            let path = "PUT /v1/polls/lunch/picture"
            // None of these bodies is ever sent.
            for (headers, token, status) in [
                (["Content-Length: 8388609"], scene.ana, 413),
                (["Content-Length: 99999999999999999999"], scene.ana, 413),
                (["Content-Length: 5"], nil, 401), (["Content-Length: 5"], "forged", 401), ([], scene.ana, 411),
                (["Transfer-Encoding: chunked"], scene.ana, 411),
                (["Content-Length: 8388609", "Expect: 100-continue"], scene.ana, 413),
                (["Content-Length: 5", "Expect: 100-continue"], nil, 401),
            ] as [([String], String?, Int)] {
                let response = try scene.send(path, headers, token: token)
                expect(response.status, equals: status, "\(headers)")
                expect(response.text.hasPrefix(#"{"type":"error""#))
            }
            // A route with a collected body has its own limit.
            try expect(
                scene.send("PUT /v1/polls/a/motto", ["Content-Length: 101"], token: scene.ana).status, equals: 413)
            try expect(
                scene.send(
                    "PUT /v1/polls/a/motto", ["Content-Length: 3"], token: scene.ana, body: Array("abc".utf8)
                ).text, equals: #"{"bytes":3}"#)
            // A client that sends the body nevertheless reads the answer.
            let client = try RawClient(port: scene.port)
            try client.send(scene.request(path, ["Content-Length: 9000000"], token: scene.ana))
            for _ in 0..<90 { try client.send([UInt8](repeating: 1, count: 100_000)) }
            try expect(client.readResponse().status, equals: 413)
            expect(client.readToEnd(), equals: [])
            // A body at the limit is accepted, and 100 is sent before any of it.
            let patient = try RawClient(port: scene.port)
            try patient.send(
                scene.request(
                    path, ["Content-Length: 8388608", "Content-Type: image/jpeg", "Expect: 100-continue"],
                    token: scene.ana))
            try expect(patient.readHead(), equals: "HTTP/1.1 100 Continue\r\n\r\n")
            for _ in 0..<128 { try patient.send([UInt8](repeating: 1, count: 65_536)) }
            try expect(patient.readResponse().status, equals: 201)
            try expect(scene.put("empty", [], token: scene.ana).status, equals: 201)
        }
    }

    @Test func `one upload for each user and a limit for the process`() async throws {
        try await Self.withScene({ $0.limits.uploads = 2 }) { scene in
            let path = "PUT /v1/polls/lunch/picture"
            let head = ["Content-Length: 1000", "Content-Type: image/jpeg", "Expect: 100-continue"]
            func begin(_ token: String) throws -> RawClient {
                let client = try RawClient(port: scene.port)
                try client.send(scene.request(path, head, token: token))
                return client
            }
            let first = try begin(scene.ana)
            try expect(first.readHead().hasPrefix("HTTP/1.1 100 "))
            let second = try begin(scene.ana).readResponse()
            expect(second.status == 429 && second.text.contains("retryAfter"))
            // A backend acts for many users.
            var backends = [try begin(scene.backend)]
            try expect(backends[0].readHead().hasPrefix("HTTP/1.1 100 "))
            let third = try begin(scene.bob).readResponse()
            expect(third.status == 503 && third.head.contains("Retry-After: 1\r\n"))
            try expect(scene.metric("http_uploads"), equals: 2)
            // An upload that is cut off frees its place, and leaves nothing.
            expect(scene.nameless, equals: 2)
            try backends[0].send([UInt8](repeating: 1, count: 500))
            backends = []
            try scene.wait(until: "http_uploads", is: 1)
            try expect(scene.put("other", [1, 2, 3], token: scene.bob).status, equals: 201)
            try first.send([UInt8](repeating: 1, count: 1000))
            try expect(first.readResponse().status, equals: 201)
            try scene.wait(until: "http_uploads", is: 0)
            while scene.nameless > 0 { usleep(2_000) }
            expect(scene.files.count, equals: 2)
            try expect(scene.put("lunch", [1], token: scene.ana).status, equals: 201)
        }
    }

    @Test func `a user whose token is revoked during the body has uploaded nothing`() async throws {
        try await Self.withScene { scene in
            let client = try RawClient(port: scene.port)
            try client.send(
                scene.request(
                    "PUT /v1/polls/lunch/picture",
                    ["Content-Length: 1000", "Content-Type: image/jpeg", "Expect: 100-continue"], token: scene.ana))
            try expect(client.readHead().hasPrefix("HTTP/1.1 100 "))
            // (A token issued in this very second would not be revoked.)
            try expect(
                scene.send("POST /v1/users/ana/revokeTokens", ["Content-Length: 0"], token: scene.backend).status,
                equals: 200)
            try client.send([UInt8](repeating: 1, count: 1000))
            try expect(client.readResponse().status, equals: 401)
            expect(scene.files.isEmpty)
        }
    }

    @Test func `an unwritable directory is the server's fault, reported before the body`() async throws {
        try await Self.withScene { scene in
            try FileManager.default.removeItem(atPath: scene.directory)
            let response = try scene.send(
                "PUT /v1/polls/lunch/picture", ["Content-Length: 1000", "Expect: 100-continue"], token: scene.ana)
            expect(response.status == 503 && response.head.contains("Retry-After: 60\r\n"))
            try expect(scene.metric("http_uploads"), equals: 0)
        }
    }

    @Test func `downloads above the limit of the process are postponed`() async throws {
        try await Self.withScene({ $0.limits.downloads = 1 }) { scene in
            try expect(scene.put("lunch", Self.picture, token: scene.ana).status, equals: 201)
            let slow = try RawClient(port: scene.port, receiveBuffer: 4_096)
            try slow.send(scene.request("GET /v1/polls/lunch/picture", token: scene.ana))
            _ = try slow.readHead()
            try expect(scene.metric("http_downloads"), equals: 1)
            try expect(scene.send("GET /v1/polls/lunch/picture", token: scene.bob).status, equals: 503)
            // A response of one piece needs no place.
            try expect(
                scene.send("GET /v1/polls/lunch/picture", ["Range: bytes=0-65535"], token: scene.bob).status,
                equals: 206)
            try expect(slow.read(Self.picture.count), equals: Self.picture)
            try scene.wait(until: "http_downloads", is: 0)
            try expect(scene.send("GET /v1/polls/lunch/picture", token: scene.bob).status, equals: 200)
        }
    }

    @Test func `a page needs no token and is compressed for clients that accept it`() async throws {
        try await Self.withScene { scene in
            let plain = try scene.send("GET /v1/polls/lunch/page", token: nil)
            expect(plain.status == 200 && plain.body == Pictures.page)
            expect(plain.head.contains("Vary: Accept-Encoding\r\n") && plain.head.contains("ETag: \"1\"\r\n"))
            let packed = try scene.send("GET /v1/polls/lunch/page", ["Accept-Encoding: gzip, br"], token: nil)
            expect(packed.head.contains("Content-Encoding: gzip\r\n") && packed.head.contains("ETag: W/\"1\"\r\n"))
            expect(packed.body.count < 300 && packed.body.starts(with: [0x1F, 0x8B]))
            try expect(
                scene.send("GET /v1/polls/lunch/page", ["If-None-Match: W/\"1\""], token: nil).status, equals: 304)
            let part = try scene.send(
                "GET /v1/polls/lunch/page", ["Accept-Encoding: gzip", "Range: bytes=5-2004"], token: nil)
            expect(part.status == 206 && part.body == Array(Pictures.page[5..<2005]))
            let metrics = try scene.send("GET /metrics", ["Accept-Encoding: gzip"], token: nil)
            expect(metrics.head.contains("Content-Encoding: gzip\r\n") && metrics.body.starts(with: [0x1F, 0x8B]))
        }
    }
}
