import Expectations
import Glibc
import Testing

@testable import PresenceCore
@testable import TestSupport

/// The places for uploads and downloads of a process, over real sockets.
@Suite(.timeLimit(.minutes(2))) struct TransferPlacesTests {
    private typealias Scene = PicturesTests.Scene

    /// The client's address, as reported by a proxy.
    private static func from(_ address: String) -> String { "X-Forwarded-For: \(address)" }

    @Test func `an address that reads slowly has its share of the downloads, and others have theirs`() async throws {
        try await PicturesTests.withScene({
            $0.limits.downloads = 4
            $0.limits.downloadsPerAddress = 2
            $0.trustedProxies = ["127.0.0.1"]
        }) { scene in
            let path = "GET /v1/polls/lunch/picture"
            let (slow, other, third) = (
                Self.from("192.0.2.1"), Self.from("192.0.2.2"), Self.from("192.0.2.3")
            )
            try expect(scene.put("lunch", PicturesTests.picture, token: scene.ana).status, equals: 201)
            func begin(_ address: String) throws -> RawClient {
                let client = try RawClient(port: scene.port, receiveBuffer: 4_096)
                try client.send(scene.request(path, [address], token: scene.ana))
                try expect(client.readHead().hasPrefix("HTTP/1.1 200 "))
                return client
            }
            var clients = [try begin(slow), try begin(slow)]
            let refused = try scene.send(path, [slow], token: scene.bob)
            expect(refused.status == 429 && refused.head.contains("Retry-After: 1\r\n"), "\(refused.text)")
            try expect(scene.metric("limit_met_total{limit=\"downloads_per_address\"}"), equals: 1)
            // A response of one piece needs no place.
            try expect(scene.send(path, [slow, "Range: bytes=0-65535"], token: scene.bob).status, equals: 206)
            try expect(scene.send(path, [other], token: scene.bob).body, equals: PicturesTests.picture)
            try scene.wait(until: "http_downloads", is: 2)
            // Backends, which act for many users, and this machine's own addresses are not counted.
            clients += [try begin(other)]
            try expect(scene.send(path, [slow], token: scene.backend).status, equals: 200)
            try scene.wait(until: "http_downloads", is: 3)
            try expect(scene.send(path, [], token: scene.bob).status, equals: 200)
            try scene.wait(until: "http_downloads", is: 3)
            clients += [try begin(third)]
            // An address with one place gets none of an address with two, however slow that one is.
            let full = try scene.send(path, [third], token: scene.bob)
            expect(full.status == 503 && full.head.contains("Retry-After: 1\r\n"))
            // A finished download frees a place for its own address.
            clients.removeFirst()
            try scene.wait(until: "http_downloads", is: 3)
            try expect(scene.send(path, [slow], token: scene.bob).status, equals: 200)
            withExtendedLifetime(clients) {}
        }
    }

    @Test func `an address has its share of the uploads, and others have theirs`() async throws {
        try await PicturesTests.withScene({
            $0.limits.uploads = 3
            $0.limits.uploadsPerAddress = 1
            $0.trustedProxies = ["127.0.0.1"]
        }) { scene in
            func begin(_ token: String, _ address: String) throws -> RawClient {
                let client = try RawClient(port: scene.port)
                try client.send(
                    scene.request(
                        "PUT /v1/polls/lunch/picture",
                        ["Content-Length: 1000", "Content-Type: image/jpeg", "Expect: 100-continue", address],
                        token: token))
                return client
            }
            let (slow, other) = (Self.from("2001:db8::1"), Self.from("2001:db8:0:1::1"))
            let first = try begin(scene.ana, slow)
            try expect(first.readHead().hasPrefix("HTTP/1.1 100 "))
            // Another address of the same /64.
            let refused = try begin(scene.bob, Self.from("2001:db8::2")).readResponse()
            expect(refused.status == 429 && refused.text.contains("from this address"), "\(refused.text)")
            try expect(scene.metric("limit_met_total{limit=\"uploads_per_address\"}"), equals: 1)
            let backend = try begin(scene.backend, slow)
            try expect(backend.readHead().hasPrefix("HTTP/1.1 100 "))
            let second = try begin(scene.bob, other)
            try expect(second.readHead().hasPrefix("HTTP/1.1 100 "))
            for client in [first, backend, second] {
                try client.send([UInt8](repeating: 1, count: 1_000))
                try expect(client.readResponse().status, equals: 201)
            }
            try scene.wait(until: "http_uploads", is: 0)
            try expect(scene.put("other", [1], token: scene.bob, [slow]).status, equals: 201)
        }
    }

    @Test func `content that is fetched in large parts takes a place, and waits in small pieces`() async throws {
        try await PicturesTests.withScene({ $0.limits.downloads = 1 }) { scene in
            let (path, print) = ("GET /v1/polls/lunch/print", Pictures.print)
            func get(_ range: String? = nil, _ method: String = "GET") throws -> RawClient.Response {
                try scene.send(
                    "\(method) /v1/polls/lunch/print", range.map { ["Range: bytes=\($0)"] } ?? [], token: scene.bob)
            }
            try expect(get().body, equals: print)
            for (range, wanted) in [
                ("0-0", 0..<1), ("0-65535", 0..<65_536), ("0-65536", 0..<65_537), ("0-524287", 0..<524_288),
                ("0-524288", 0..<524_289), ("70000-1200000", 70_000..<1_200_001), ("-600000", 1_497_152..<2_097_152),
            ] {
                try scene.wait(until: "http_downloads", is: 0)
                let part = try get(range)
                expect(part.status == 206 && part.body == Array(print[wanted]), "\(range)")
            }
            let head = try get(nil, "HEAD")
            expect(head.status == 200 && head.head.contains("Content-Length: 2097152\r\n"))
            try scene.wait(until: "http_downloads", is: 0)
            // The size of one fetch.
            let slow = try RawClient(port: scene.port, receiveBuffer: 4_096)
            try slow.send(scene.request(path, ["Range: bytes=0-524287"], token: scene.ana))
            _ = try slow.readHead()
            try expect(scene.metric("http_downloads"), equals: 1)
            try expect(get("0-65536").status, equals: 503)
            try expect(get("0-65535").status, equals: 206)
            while try scene.metric("outbox_bytes") == 0 { usleep(2_000) }
            try expect(scene.metric("outbox_bytes") <= 65_536)
            try expect(slow.read(524_288), equals: Array(print[..<524_288]))
            try scene.wait(until: "http_downloads", is: 0)
            try expect(scene.metric("outbox_bytes"), equals: 0)
        }
    }
}
