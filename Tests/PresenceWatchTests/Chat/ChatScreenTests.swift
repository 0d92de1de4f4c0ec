import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

@testable import presence_chat

/// The screen of a conversation.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ChatScreenTests {
    private func picture(_ content: ChatScreen.Content, _ width: Int, _ height: Int, scrolled: Int = 0) -> [String] {
        ChatScreen(width: width, height: height).lines(of: content, scrolled: scrolled).map(\.plainText)
    }

    private func row(_ text: String, _ sender: String = "Bob", status: String? = nil) -> ChatScreen.Row {
        ChatScreen.Row(time: "14:02", sender: sender, isOwn: sender == "you", text: text, status: status)
    }

    @Test func `messages are above the written line, each on as many lines as needed`() {
        var content = ChatScreen.Content()
        (content.title, content.subtitle, content.connection) = ("Bob Ray", "online", .live)
        content.rows = [row("On my way to the station"), row("Fine", "you", status: "Read")]
        content.typing = "Bob is typing…"
        _ = content.input.handle(.text("See you"))
        _ = content.input.handle(.left)
        expect(
            picture(content, 32, 8),
            equals: [
                "Bob Ray   online          ● live",
                "", "",
                "14:02 Bob  On my way to the",
                "           station",
                "14:02 you  Fine  Read",
                "Bob is typing…",
                "> See yo▏u",
            ])
    }

    @Test(arguments: [24, 40, 80, 110]) func `a notice is shown completely, on as many lines as needed`(width: Int) {
        var content = ChatScreen.Content()
        content.rows = (1...20).map { row("number \($0)") }
        content.notice = ChatCommand.helpText
        let lines = picture(content, width, 16)
        expect(lines.count == 16 && lines.allSatisfy { $0.count <= width })
        let shown = lines.joined(separator: " ")
        for command in ChatCommand.helpText.split(separator: " ") { expect(shown.contains(command), "\(command)") }
        expect(lines.last == "> ▏" && lines.contains { $0.hasSuffix("number 20") })
    }

    @Test func `errors take precedence over typing, and scrolling shows earlier messages`() {
        var content = ChatScreen.Content()
        content.rows = (1...9).map { row("number \($0)") }
        content.typing = "Bob is typing…"
        content.notice = "That was too fast."
        let lines = picture(content, 40, 6, scrolled: 2)
        expect(lines[1...3].map { String($0.suffix(1)) }, equals: ["5", "6", "7"])
        expect(lines[4].hasPrefix("That was too fast.") && lines[4].hasSuffix("↓ 2 more"))
        expect(picture(content, 40, 6, scrolled: 99)[1].hasSuffix("number 1"), "never past the oldest")
        expect(picture(content, 40, 6, scrolled: -5)[3].hasSuffix("number 9"))
    }

    @Test func `no text controls the terminal or moves another`() {
        var content = ChatScreen.Content()
        content.title = "\u{1B}[2J"
        content.rows = [
            row("a\u{1B}]0;x\u{7}b\n\tc", "B\u{202E}ob"), row(String(repeating: "山", count: 30)),
            row("x", "a name that is far too long for its column", status: "Not sent: \u{9B}1m"),
        ]
        content.notice = "no\u{1B}c"
        for width in [20, 25, 33, 80] {
            for line in ChatScreen(width: width, height: 20).lines(of: content) {
                expect(line.width <= width, "\(line.plainText)")
                expect(line.plainText.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
            }
        }
    }

    @Test func `a long line shows its end, up to the cursor`() {
        var content = ChatScreen.Content()
        _ = content.input.handle(.text(String(repeating: "x", count: 50) + "end"))
        expect(picture(content, 20, 5).last, equals: "> xxxxxxxxxxxxxend▏")
        _ = content.input.handle(.home)
        expect(picture(content, 20, 5).last?.hasPrefix("> ▏xxx"), equals: true)
        content.isEditing = true
        expect(picture(content, 20, 5).last?.hasPrefix("✎ ▏xxx"), equals: true)
    }

    @Test func `the models' content is on the screen`() async throws {
        let server = InMemoryServer()
        server.set(.online("bob", name: "Bob"))
        server.add(conversation: "c1", of: ["ana", "bob"])
        let client = server.client(as: "ana")
        let messages = PresenceMessenger(client)
        let roster = RosterModel(client, users: ["bob"])
        let model = ConversationModel(
            conversation: "c1", user: "ana", messages: messages, typing: client
        ) { user in roster.people.first { $0.user == user }?.displayName ?? user }
        let runs = [Task { await model.run() }, Task { await roster.run() }]
        defer { runs.forEach { $0.cancel() } }
        let picture = MessageAttachment(type: .image, url: "https://example.org/a", sizeBytes: 1)
        try await messages.send(
            Message(
                conversationId: "c1", senderId: "ana", text: "", attachments: [picture], isPriority: true,
                priorityReason: "now"))
        await until { model.messages.first?.status == .sent }
        server.write("Nice", from: "bob", in: "c1")
        await until { model.messages.count == 2 && !roster.people.isEmpty && model.title == "Bob" }
        let zone = try #require(TimeZone(identifier: "UTC"))
        let content = ChatScreen.Content(model, roster, .live, in: zone)
        expect(content.title == "Bob" && content.subtitle == "online")
        expect(content.rows.map(\.text), equals: ["[image, 1 B: https://example.org/a]", "Nice"])
        expect(content.rows.map(\.sender) == ["you", "Bob"] && content.rows.map(\.status) == ["Sent", nil])
        expect(content.rows.map(\.priority), equals: ["now", nil])
        expect(content.rows.map(\.time), equals: ["08:00", "08:00"])
    }
}
