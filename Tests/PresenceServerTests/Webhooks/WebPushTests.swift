import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Pushes to browsers: subscriptions, hosts, and what is sent.
@Suite struct WebPushTests {
    private static let keys =
        #"{"auth":"BTBZMqHH6r4Tts7J_aSIgg","p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}"#
    private static let json = #"{"endpoint":"https://push.example.org/a?b=\/","keys":\#(keys),"expirationTime":null}"#
    private static let text = #"{"endpoint":"https://push.example.org/a?b=/","keys":\#(keys)}"#

    @Test func `a subscription has one text, whatever order and escapes a client has written`() throws {
        let subscription = try WebSubscription(json: Array(Self.json.utf8))
        expect(subscription.text == Self.text && WebSubscription(text: Self.text) == subscription)
        expect(subscription.encryption != nil && subscription.place?.origin == "https://push.example.org")
        expect(WebSubscription(text: "{}") == nil && WebSubscription(text: "") == nil)
        let body =
            #"{"type":"push.due","timestamp":"2026-11-22T04:00:00Z","data":{"user":"bob","conversation":"c1","#
            + #""devices":[{"platform":"fcm","pushToken":"a"},{"platform":"web","subscription":\#(Self.text)}],"#
            + #""title":"Ana","text":"hi","badge":3}}"#
        let messages = PushMessage.all(for: "web", in: Array(body.utf8), at: 5, of: 7)
        expect(messages.map(\.pushToken), equals: [Self.text])
        expect(PushService.json(Self.text, of: "web") == Self.text && PushService.json("a", of: "fcm") == "\"a\"")
        // An entry of a queue separates its parts by spaces.
        expect(!Self.text.contains(" "))
    }

    @Test(arguments: [
        ("https://a.org", "a.org", "https://a.org"), ("HTTPS://A.org:443/x", "a.org", "https://a.org"),
        ("https://a.org:8443?x", "a.org", "https://a.org:8443"),
        ("https://a_b-c.1.2/%20", "a_b-c.1.2", "https://a_b-c.1.2"),
    ])
    func `an endpoint's host and origin are read`(text: String, host: String, origin: String) {
        let place = WebSubscription.Endpoint(text)
        expect(place?.host == host && place?.origin == origin)
    }

    /// Foundation reads addresses by itself, as libcurl does: an accepted one means the same to both.
    @Test func `an accepted endpoint means the same host to others`() throws {
        let pieces = [
            "https://", "HTTPS://", "a", "Z9", ".", "-", "_", ":", "@", "/", "\\", "?", "#", "%2F", "%", "[", "]",
            "443", "0", " ", "é", ";",
        ]
        var random = SplitMix64(7)
        var accepted = 0
        for _ in 0..<50_000 {
            let count = Int.random(in: 0...6, using: &random)
            let text = "https://" + (0..<count).map { _ in pieces.randomElement(using: &random)! }.joined()
            guard let place = WebSubscription.Endpoint(text) else { continue }
            accepted += 1
            // A lone % is no URL to Foundation; libcurl passes it on in the path.
            guard let url = URLComponents(string: text) else { continue }
            try #require(url.host?.lowercased() == place.host && url.user == nil && url.fragment == nil, "\(text)")
            try #require(
                url.scheme?.lowercased() == "https"
                    && place.origin.hasSuffix(url.port.flatMap { $0 == 443 ? nil : ":\($0)" } ?? ""), "\(text)")
        }
        expect(accepted > 2_000)
    }

    @Test func `a pattern stands for the hosts below a name`() throws {
        var configuration = ServerConfiguration()
        expect(WebHosts(configuration).contain("anything"))
        configuration[Push.webHosts] = ["Push.example.org", "*.example.com"]
        let hosts = WebHosts(configuration)
        expect(hosts.contain("push.example.org") && hosts.contain("a.example.com") && hosts.contain("a.b.example.com"))
        for other in ["example.com", "evilexample.com", "a.push.example.org", "example.org", "push.example.org."] {
            expect(!hosts.contain(other), "\(other)")
        }
        for name in ["a.org", "*.a.org", "localhost", "A.org"] { expect(WebHosts.isName(name)) }
        for name in ["", "*", "*.", "https://a.org", "a.org:1", "a.org/", "*.*.org", ".org", "a b"] {
            expect(!WebHosts.isName(name), "\(name)")
        }
    }

    @Test(arguments: ["x", "\u{1}", "🏔", "\"", "\\"])
    func `a push has at most 3 KiB, whatever ids, titles and texts have`(character: String) throws {
        let long = String(repeating: character, count: 5_000)
        let id = String(repeating: "\"", count: Identifier.maximumLength)
        let message = PushMessage(
            at: 1, seq: .max, pushToken: Self.text, user: id, conversation: id, title: PushMessage.cut(long, to: 400),
            text: PushMessage.cut(long, to: 2_000), badge: .max)
        expect(WebPush.body(message).count <= 3_072)
    }

    @Test func `a topic is 32 characters that differ by conversation and browser`() {
        let topics = [WebPush.topic("c1", [1]), WebPush.topic("c2", [1]), WebPush.topic("c1", [2])]
        expect(Set(topics).count == 3 && topics.allSatisfy { $0.utf8.count == 32 })
        expect(WebPush.topic("c1", [1]), equals: topics[0])
    }

    @Test func `the key's file is made once, and only its owner can read it`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("vapid-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let file = VAPIDFile(directory: directory)
        let key = try file.key()
        try expect(file.key().publicText == key.publicText && key.publicText.utf8.count == 87)
        let path = directory + "/vapid.pem"
        try expect(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int, equals: 0o600)
        expect("\(key)" == "VAPIDKey(hidden)" && Mirror(reflecting: key).children.isEmpty)
        let other = try #require(VAPIDKey())
        try file.store(other)
        try expect(file.key().publicText == other.publicText && other.publicText != key.publicText)
        try expect(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int, equals: 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: (any Error).self) { try file.key() }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try "nonsense".write(toFile: path, atomically: false, encoding: .utf8)
        #expect(throws: (any Error).self) { try file.key() }
        try expect(FileManager.default.contentsOfDirectory(atPath: directory), equals: ["vapid.pem"])
    }
}
