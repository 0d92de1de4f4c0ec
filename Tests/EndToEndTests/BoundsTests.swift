import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import TestSupport
import Testing

/// The longest and deepest values that a server accepts reach every client completely.
@Suite(.sharedServer([:])) struct BoundsTests {
    private let server = SharedServer.current!

    /// Texts of 5,000 characters or 20 KiB: with one to four bytes a character, escaped in JSON, and with several code
    /// points each.
    static let longestTexts = [
        String(repeating: "x", count: 5_000), String(repeating: "\n", count: 5_000),
        String(repeating: "\"", count: 5_000), String(repeating: "\r\n", count: 5_000),
        String(repeating: "é", count: 5_000),
        String(repeating: "😀", count: 5_000), String(repeating: "👨‍👩‍👦", count: 1_130),
        String(repeating: "e\u{301}\u{302}\u{303}", count: 2_900),
    ]

    @Test(arguments: longestTexts.indices)
    func `the longest messages, with the longest addresses and many edits, reach their followers`(index: Int)
        async throws
    {
        let text = Self.longestTexts[index]
        let (client, other) = (server.client("long-ana-\(index)"), server.client("long-bob-\(index)"))
        let (ana, bob) = (PresenceMessenger(client), PresenceMessenger(other))
        client.connect()
        let id = try await ana.directConversation(with: "long-bob-\(index)").id
        let seen = Sightings(bob.messages(in: id))
        let address = "https://example.org/" + String(repeating: "a", count: 2_028)
        let attachments = (0..<Message.Rule.maximumAttachments).map {
            MessageAttachment(
                id: "\($0)", type: .image, url: address, thumbnailURL: address, sizeBytes: 9_007_199_254_740_991)
        }
        let reason = String(repeating: "😀", count: Message.Rule.maximumReasonCharacters)
        let sent = try await ana.send(text, in: id, attachments: attachments, priorityReason: reason)
        let whole = try await seen.until("the message") { $0.last?.id == sent.id }
        expect(whole.last?.text == text && whole.last?.attachments == attachments)
        expect(whole.last?.priorityReason, equals: reason)
        for number in 1...10 {
            let next = "\(number % 10)" + text.dropFirst()
            let edited = try await ana.edit(sent, text: next)
            expect(edited.text == next && edited.editCount == number)
        }
        try await seen.until("the edits") { $0.last?.editCount == 10 }
        let page = try await bob.getMessages(in: id)
        expect(page.last?.editCount == 10 && page.last?.attachments == attachments)
        let list = Sightings(bob.conversationList)
        try await list.until("the list") { $0.first?.lastMessage?.editCount == 10 }
    }

    @Test(arguments: longestTexts.indices)
    func `a long message that is edited at once reaches its earlier and later followers`(
        index: Int
    ) async throws {
        let text = Self.longestTexts[index]
        let users = (0..<10).map { "crowd-\(index)-\($0)" }
        let messages = users.map { PresenceMessenger(server.client($0)) }
        let id = try await messages[0].createGroup(with: Array(users.dropFirst()), name: "Long").id
        let seen = messages.dropFirst().prefix(5).map { Sightings($0.messages(in: id)) }
        let address = "https://example.org/" + String(repeating: "%2F", count: 676)
        let attachments = (0..<Message.Rule.maximumAttachments).map {
            MessageAttachment(id: "\($0)", type: .file, url: address, thumbnailURL: address, sizeBytes: 0)
        }
        for number in 1...5 {
            let sent = try await messages[0].send(text, in: id, attachments: attachments)
            let edited = try await messages[0].edit(sent, text: "\(number)" + text.dropFirst())
            let late = messages[5 + number % 5]
            for sightings in seen + [Sightings(late.messages(in: id))] {
                let newest = try await sightings.until("the edit") { $0.last?.text == edited.text }
                expect(newest.last?.attachments == attachments && newest.count == number)
            }
        }
    }

    @Test func `the deepest data and metadata reach their readers`() async throws {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":"#, count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
        }
        let bob = server.client("deep-bob")
        let inbox = Sightings(PresenceNotifications(bob).inbox)
        let backend = try await server.token("shop", role: "backend")
        let body = #"{"users":["deep-bob"],"id":"1","kind":"order","title":"x","data":\#(nested(16))}"#
        try await expect(server.http("POST", "/v1/notifications", token: backend, body: body).status, equals: 202)
        try await inbox.until("the notification") { $0.notifications.first?.data != nil }

        let ana = PresenceMessenger(server.client("deep-ana"))
        let metadata = try JSONDecoder().decode([String: JSONValue].self, from: Data(nested(16).utf8))
        _ = try await ana.createGroup(with: ["deep-bob", "deep-cy"], name: "Deep", metadata: metadata)
        let list = Sightings(PresenceMessenger(bob).conversationList)
        try await list.until("the group") { $0.first?.metadata == metadata }
    }
}
