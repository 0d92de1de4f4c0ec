import Foundation
import PresenceMessages

/// The cost of one message while a conversation is on the screen: the reader's processor time, from the socket to the
/// model, the device's history and the mark of reading. The writer is a process of its own.
@MainActor struct Screen {
    private let reader: PresenceMessenger
    private let writer: Writer
    private let model: ConversationModel

    init(_ ana: PresenceClient, users: (ana: String, bob: String), writer: (url: String, token: String)) async throws {
        reader = PresenceMessenger(ana)
        let conversation = try await reader.directConversation(with: users.bob).id
        self.writer = try Writer(url: writer.url, token: writer.token, conversation: conversation)
        model = ConversationModel(conversation: conversation, user: users.ana, messages: reader, typing: ana)
        model.isVisible = true
    }

    /// Prints the processor time of one of `count` messages, with each number of messages on the screen.
    func measure(shown: [Int], _ count: Int) async throws {
        let observation = Task { await model.run() }
        for wanted in shown {
            while model.messages.count < wanted {
                let target = min(wanted, model.messages.count + 500)
                for number in model.messages.count..<target { try writer.send("\(number)") }
                try await waits(for: target)
            }
            let began = Self.processorTime
            for number in 1...count {
                try writer.send("one more")
                // Each message is a change of its own: faster ones would be shown together.
                try await waits(for: wanted + number)
            }
            let spent = (Self.processorTime - began) / Double(count)
            print("one message, \(wanted) on the screen: \(String(format: "%.2f", spent)) ms of processor time")
        }
        observation.cancel()
        writer.end()
    }

    private func waits(for count: Int) async throws {
        repeat { try await Task.sleep(for: .milliseconds(30)) } while model.messages.count < count
    }

    /// Milliseconds of this process.
    private static var processorTime: Double { Double(clock()) / Double(CLOCKS_PER_SEC) * 1_000 }
}

/// A process of this program that sends each line of its input as a message.
struct Writer {
    private let process = Process()
    private let input = Pipe()

    init(url: String, token: String, conversation: String) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--write", url, token, conversation]
        process.standardInput = input
        try process.run()
    }

    func send(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data("\(text)\n".utf8)) }

    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The process itself: it ends with its input.
    static func run(url: URL, token: String, conversation: String) async throws {
        let client = PresenceClient(url: url, token: token)
        // The user is unknown, and nothing can be sent, until the first connection.
        try await client.updateProfile(displayName: "Bob", offline: .fail)
        let messages = PresenceMessenger(client)
        while let text = readLine() { try await messages.send(text, in: conversation) }
    }
}
