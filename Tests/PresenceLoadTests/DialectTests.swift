import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import presence_load

@Suite struct DialectTests {
    private static let mint = TokenMint(secret: "a secret of thirty-two bytes or more")!

    private func read(_ dialect: some Dialect, _ text: String) -> [Incoming] {
        Array(text.utf8).withUnsafeBytes { dialect.read($0) }
    }

    private func peer(_ json: String, messageBytes: Int = 186) throws -> PeerDialect {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(json.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try PeerDialect(PeerTemplate(file: file.path), channel: "c", messageBytes: messageBytes) {
            Self.mint
        }
    }

    private static let template = """
        {"name": "n", "connect": ["{id} {user} {token}"], "connected": "hello", "subscribe": "on {channel} {id}",
         "subscribed": "done", "publish": "{channel}={payload}", "delivered": "[{channel}:{payload}]",
         "acknowledged": "ok", "refused": "no!", "ping": {"message": "{}", "answer": "{ }"}}
        """

    @Test func `a payload is found by its bytes, wherever it stands and however many there are`() {
        let changes = [NumberedChange(changer: 12, number: 42), NumberedChange(changer: 99_999, number: 9_999_999)]
        let text = changes.map { "{load/\(NumberedPayload.bytes($0, length: 60))\"load/1" }.joined(separator: "\n")
        expect(Array(text.utf8).withUnsafeBytes { NumberedPayload.changes(in: $0) }, equals: changes)
        expect(NumberedPayload.bytes(changes[0], length: 60).utf8.count, equals: 60)
        for text in ["", "load/", "load/0001/00000042/xx", "load/0001x/0000042/"] {
            expect(Array(text.utf8).withUnsafeBytes { NumberedPayload.changes(in: $0) }.isEmpty)
        }
    }

    @Test func `a template determines the messages, and a delivered one has the requested length`() throws {
        let peer = try peer(Self.template)
        let greeting = try #require(peer.greeting(of: "ana").first.map { String(decoding: $0, as: UTF8.self) })
        expect(greeting.hasPrefix("1 ana ey") && greeting.split(separator: ".").count == 3)
        let subscription = peer.subscription(to: ["a", "b"], batch: .max).map { String(decoding: $0, as: UTF8.self) }
        expect(subscription, equals: ["on a 1000", "on b 1001"])
        let published = peer.message(NumberedChange(changer: 0, number: 7), by: "c")
        expect(published.starts(with: "c=load/00000/0000007/xxx".utf8))
        expect(published.count - "c=".utf8.count + "[c:]".utf8.count, equals: 186)
    }

    @Test func `our own clients name a device, each its own and the same at every connect`() throws {
        func device(of user: String) throws -> Device {
            let crowd = Crowd(subjects: 1, watchers: 1)
            let dialect = try PresenceDialect(crowd: crowd, mint: Self.mint, kind: .text)
            let greeting = try #require(dialect.greeting(of: user).first)
            let message = try ClientMessage.decode(greeting)
            guard case .connect(let connect) = message.body else { throw Failure("it does not connect") }
            return try #require(connect.device)
        }
        let ids = try (0..<100).map { try #require(try device(of: "ana\($0)").id).string }
        expect(Set(ids).count, equals: 100)
        try expect(device(of: "ana7").id?.string, equals: ids[7])
        expect(ids.allSatisfy { $0.utf8.count == 36 })
        expect(Device.only(of: "ana", kind: .phone).kind, equals: .phone)
    }

    @Test func `answers are recognised by their content`() throws {
        let peer = try peer(Self.template)
        expect(read(peer, "hello ana"), equals: [.connected(subscriptions: .max, batch: .max)])
        expect(read(peer, "done\ndone"), equals: [.subscribed, .subscribed])
        expect(read(peer, "ok"), equals: [.acknowledged(number: nil)])
        expect(read(peer, "{}"), equals: [.asked(Array("{ }".utf8))])
        expect(read(peer, "no!"), equals: [.refused("something: no!")])
        expect(read(peer, "what else"), equals: [])
        expect(
            read(peer, "[c:load/00003/0000009/xx ok]"), equals: [.change(NumberedChange(changer: 3, number: 9))])
    }

    @Test func `a template without a place for the payload, or too little room for it, is a sentence`() throws {
        #expect(throws: Failure.self) { try peer(#"{"name": "n", "publish": "P", "delivered": "{payload}"}"#) }
        #expect(throws: Failure.self) { try peer(#"{"name": "n"}"#) }
        #expect(throws: Failure("a message of n has at least 23 bytes, not 22")) {
            try peer(Self.template, messageBytes: 22)
        }
    }

    @Test(arguments: ["baseline", "centrifugo", "log", "value"])
    func `the templates that are shipped can be read`(name: String) throws {
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("loadtest/peers")
        let template = try PeerTemplate(file: directory.appendingPathComponent("\(name).json").path)
        let channel = Crowd(subjects: 1, watchers: 0).subject(0)
        _ = try PeerDialect(template, channel: channel, messageBytes: PresenceDialect.shortestEvent) {
            Self.mint
        }
    }

    @Test func `our events are recognised, for all our people and no others`() throws {
        let crowd = Crowd(subjects: 20, watchers: 1)
        let mint = Self.mint
        let ours = try PresenceDialect(crowd: crowd, mint: mint, kind: .text)
        func event(_ user: String) -> String {
            #"{"type":"presence","user":"\#(user)","presence":{"version":1763712003210,"status":"online","#
                + #""since":1763712003209,"text":"change 0000042","devices":["bot"]},"at":1763712009410}"#
        }
        expect(read(ours, event(crowd.subject(19))), equals: [.change(NumberedChange(changer: 19, number: 42))])
        expect(read(ours, event("bob")), equals: [])
        expect(event(crowd.subject(3)).utf8.count, equals: PresenceDialect.shortestEvent)
        let padded = try PresenceDialect(crowd: crowd, mint: mint, kind: .text, messageBytes: 200)
        expect(padded.padding, equals: 14)
        expect(NumberedText.number(in: NumberedText.text(42, padding: padded.padding)), equals: 42)
        #expect(throws: Failure.self) {
            _ = try PresenceDialect(crowd: crowd, mint: mint, kind: .name, messageBytes: 200)
        }
    }

    @Test func `the same bytes are known again, and others never mistaken for them`() {
        var cache = ChangeCache()
        func message(_ number: Int) -> [UInt8] { Array("some text of a change \(number) of somebody".utf8) }
        for number in 1...20_000 {
            let change = NumberedChange(changer: 1, number: Int32(number))
            message(number).withUnsafeBytes { bytes in
                expect(cache.find(bytes), equals: nil)
                cache.remember(bytes, as: change)
                expect(cache.find(bytes), equals: change)
            }
        }
        for length in 0...9 {
            let bytes = [UInt8](repeating: 7, count: length)
            bytes.withUnsafeBytes { cache.remember($0, as: NumberedChange(changer: 2, number: Int32(length))) }
            expect(bytes.withUnsafeBytes { cache.find($0) }?.number, equals: length > 0 ? Int32(length) : nil)
        }
    }
}
