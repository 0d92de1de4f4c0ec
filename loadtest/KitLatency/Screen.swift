import Foundation
import PresenceMessages

/// The cost of one message while a conversation is on the screen: two clients' processor time, from the sender's call to
/// the reader's model and its mark of reading.
@MainActor struct Screen {
    private let reader: PresenceMessenger
    private let writer: PresenceMessenger
    private let model: ConversationModel
    private let conversation: String

    init(_ ana: PresenceClient, _ bob: PresenceClient, users: (ana: String, bob: String)) async throws {
        reader = PresenceMessenger(ana)
        writer = PresenceMessenger(bob)
        conversation = try await reader.directConversation(with: users.bob).id
        model = ConversationModel(conversation: conversation, user: users.ana, messages: reader, typing: ana)
        model.isVisible = true
    }

    /// Prints the processor time of one of `count` messages, with each number of messages on the screen.
    func measure(shown: [Int], _ count: Int) async throws {
        let observation = Task { await model.run() }
        for wanted in shown {
            while model.messages.count < wanted {
                let target = min(wanted, model.messages.count + 500)
                for number in model.messages.count..<target { try await writer.send("\(number)", in: conversation) }
                try await waits(for: target)
            }
            let began = Self.processorTime
            for number in 1...count {
                try await writer.send("one more", in: conversation)
                // Each message is a change of its own: faster ones would be shown together.
                try await waits(for: wanted + number)
            }
            let spent = (Self.processorTime - began) / Double(count)
            print("one message, \(wanted) on the screen: \(String(format: "%.2f", spent)) ms of processor time")
        }
        observation.cancel()
    }

    private func waits(for count: Int) async throws {
        repeat { try await Task.sleep(for: .milliseconds(30)) } while model.messages.count < count
    }

    /// Milliseconds of this process.
    private static var processorTime: Double { Double(clock()) / Double(CLOCKS_PER_SEC) * 1_000 }
}
