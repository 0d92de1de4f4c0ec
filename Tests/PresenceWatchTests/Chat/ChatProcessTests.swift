import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import TestSupport
import Testing

/// Two terminals with a conversation over a real server.
@Suite(.timeLimit(.minutes(2)))
struct ChatProcessTests {
    private let state: TemporaryDirectory

    init() throws { state = try TemporaryDirectory() }

    private func chat(
        _ server: Server, _ user: String, _ arguments: String..., height: Int = 12
    ) async throws -> PseudoTerminal {
        let environment = [
            "PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token(user), "XDG_STATE_HOME": state.path,
        ]
        return try PseudoTerminal(
            width: 80, height: height, program: Programs.chat, arguments, environment: environment)
    }

    /// The lines with messages, without their times.
    private static func messages(_ picture: TerminalPicture) -> [String] {
        let last = picture.lines.keys.max() ?? 0
        return picture.lines.filter { $0.key > 1 && $0.key < last - 1 && !$0.value.isEmpty }
            .sorted { $0.key < $1.key }.map { String($0.value.dropFirst(6)) }
    }

    @Test func `without a terminal it fails, and creates no conversation`() async throws {
        let server = try await Server()
        let environment = [
            "PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token("ana"), "XDG_STATE_HOME": state.path,
        ]
        let ended = try await Programs.run([Programs.chat, "zed"], environment: environment)
        expect(ended.status == 74 && ended.complaints == "presence-chat: a terminal is needed\n")
        let list = try await Programs.run([Programs.chat, "--list"], environment: environment)
        expect(list.status == 0 && list.output == [])
    }

    @Test func `two terminals hold a conversation, with typing, receipts, edits and deletions`() async throws {
        let server = try await Server()
        let (ana, bob) = (try await chat(server, "ana", "bob"), try await chat(server, "bob", "ana"))
        for (terminal, other) in [(ana, "bob"), (bob, "ana")] {
            try await terminal.until("the other one, here") {
                $0.lines[1]?.contains("\(other)   online") == true && $0.lines[1]?.contains("● live") == true
            }
        }
        ana.press("Hello Bób")
        try await bob.until("ana types") { $0.text.contains("ana is typing…") }
        ana.press("\r")
        try await bob.until("ana's message, and nobody types") {
            Self.messages($0) == ["ana  Hello Bób"] && !$0.text.contains("typing")
        }
        try await ana.until("read") { Self.messages($0) == ["you  Hello Bób  Read"] }

        bob.press("Hi\r")
        try await ana.until("an answer") { Self.messages($0).last == "bob  Hi" }
        ana.press("\u{1B}[A")
        try await ana.until("the text in the field") { $0.lines[12]?.hasPrefix("✎ Hello Bób▏") == true }
        ana.press("\u{7F}\u{7F}\u{7F}Ana\r")
        try await bob.until("another text") { Self.messages($0).first == "ana  Hello Ana  (edited)" }
        try await ana.until("an empty field") { $0.lines[12]?.hasPrefix("> ▏") == true }
        bob.press("/delete\r")
        try await ana.until("a deleted message") { Self.messages($0).last == "bob  deleted" }

        ana.press("/nonsense\r")
        try await ana.until("a complaint") { $0.text.contains("there is no /nonsense; /help lists the commands") }
        expect(Self.messages(bob.picture).count, equals: 2)
        ana.press("\u{3}")
        try await expect(Patience.end(of: ana.watcher), equals: 0)
        let after = try await ana.until("the former screen") { !$0.isAlternate && !$0.isCursorHidden }
        expect(after.main == "" && ana.isAsBefore)
        try await bob.until("ana is gone") { $0.lines[1]?.contains("ana   offline") == true }
    }

    @Test func `a file is sent, and an unusable one shows the reason`() async throws {
        let server = try await Server(settings: ["PRESENCE_ATTACHMENTS_ENABLED": "true"])
        let (ana, bob) = (try await chat(server, "ana", "bob"), try await chat(server, "bob", "ana"))
        try await ana.until("a connection") { $0.lines[1]?.contains("● live") == true }
        let file = state.file("map.pdf")
        try Data(count: 51_200).write(to: URL(fileURLWithPath: file))
        ana.press("/attach \(file)\r")
        try await bob.until("the file") {
            $0.text.contains("[file, 51 KB:") && $0.text.contains("http://127.0.0.1:\(server.port)/v1/attachments/")
        }
        ana.press("/attach \(file).gone\r")
        try await ana.until("a complaint") { $0.text.contains("map.pdf.gone: This file cannot be used.") }
    }

    @Test func `messages written while the server is down are sent once, in order, also after kill -9`() async throws {
        let server = try await Server()
        let bob = try await chat(server, "bob", "ana")
        var ana = try await chat(server, "ana", "bob")
        try await ana.until("a connection") { $0.lines[1]?.contains("● live") == true }
        ana.press("one\r")
        try await bob.until("the first") { Self.messages($0) == ["ana  one"] }

        server.kill()
        try await ana.until("no connection") { $0.lines[1]?.contains("◌ reconnecting") == true }
        ana.press("two\rthree\r")
        try await ana.until("both wait") {
            Self.messages($0).suffix(2) == ["you  two  Sending…", "you  three  Sending…"]
        }
        ana.watcher.signal(SIGKILL)
        try await expect(Patience.end(of: ana.watcher), equals: 128 + SIGKILL)
        try await server.start()

        ana = try await chat(server, "ana", "bob")
        try await bob.until("all of them, once") { Self.messages($0) == ["ana  one", "ana  two", "ana  three"] }
        try await ana.until("read") { Self.messages($0).last == "you  three  Read" }
        ana.press("four\r")
        try await bob.until("what comes next") {
            Self.messages($0) == ["ana  one", "ana  two", "ana  three", "ana  four"]
        }
    }

    @Test func `a group has a name and its members, and earlier messages are loaded by scrolling`() async throws {
        let server = try await Server()
        let client = try await server.client("ana")
        let messages = PresenceMessenger(client)
        let group = try await messages.createGroup(with: ["bob", "cy"], name: "Trip")
        for number in 1...60 { try await messages.send("number \(number)", in: group.id) }
        for await count in messages.waiting where count == 0 { break }
        let bob = try await chat(server, "bob", "--conversation", group.id)
        try await bob.until("the newest") {
            $0.lines[1]?.contains("Trip   3 people, 2 here") == true && $0.text.contains("number 60")
        }
        // The newest 50 messages, then the page before them.
        while !bob.picture.text.contains("number 1\n") {
            let before = bob.picture.text
            bob.press("\u{1B}[5~")
            try await bob.until("an earlier page") { $0.text != before }
        }
        bob.press("/name Alps\r")
        try await bob.until("the new name") { $0.lines[1]?.contains("Alps") == true }
        await client.disconnect()
    }

    @Test func `the list has one line for each conversation`() async throws {
        let server = try await Server()
        let client = try await server.client("ana")
        let messages = PresenceMessenger(client)
        let id = try await messages.directConversation(with: "bob").id
        try await messages.send("Hello", in: id)
        for await count in messages.waiting where count == 0 { break }
        let environment = [
            "PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token("bob"), "XDG_STATE_HOME": state.path,
        ]
        let result = try await Programs.run([Programs.chat, "--list"], environment: environment)
        expect(result.status == 0 && result.output == ["\(id)\t1 unread\tana\tHello"], "\(result)")
        await client.disconnect()
    }

    @Test func `an invalid conversation is reported, and the terminal is restored`() async throws {
        let server = try await Server()
        let stranger = try await chat(server, "eve", "--conversation", "nothing")
        try await expect(Patience.end(of: stranger.watcher), equals: 77)
        let picture = try await stranger.until("a sentence") { $0.main.hasSuffix("\r\n") }
        expect(picture.main, equals: "presence-chat: nothing is not a conversation that you take part in\r\n")
        expect(stranger.isAsBefore)
        let environment = ["PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token("eve")]
        for (arguments, status) in [([], 64), (["a b"], 64), (["bob", "--list"], 64), (["bob"], 74)]
            as [([String], Int32)]
        {
            let result = try await Programs.run(
                [Programs.chat] + arguments, environment: environment.merging(["XDG_STATE_HOME": state.path]) { $1 })
            expect(result.status == status && result.complaints.hasPrefix("presence-chat: "), "\(result)")
        }
    }
}
