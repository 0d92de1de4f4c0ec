import Foundation
import PresenceMessages

/// The time from a launch without a network to the list of conversations and the newest messages of one.
struct Launch {
    static let conversations = 100
    static let messages = 50

    let directory: URL
    let token: String

    /// Fills the storage of the reader, who opens each conversation.
    static func fill(_ reader: PresenceMessenger, _ writer: PresenceMessenger, with user: String) async throws {
        for number in 0..<conversations {
            let group = try await reader.createGroup(with: [user], name: "Group \(number)")
            for message in 0..<messages { try await writer.send("Message \(message) of this group", in: group.id) }
            for await list in reader.messages(in: group.id) where list.count == messages && list.allSatisfy(\.isSent) {
                break
            }
        }
    }

    func measure(_ runs: Int) async throws {
        var times: [(list: Double, messages: Double)] = []
        for _ in 0..<runs {
            let began = ContinuousClock.now
            let client = PresenceClient(
                url: URL(string: "ws://127.0.0.1:1/v1/ws")!, token: token, storage: try .directory(directory))
            let messenger = PresenceMessenger(client)
            var lists = messenger.conversationList.makeAsyncIterator()
            guard let list = await lists.next(), list.count >= Self.conversations else { return print("no list") }
            let listed = ContinuousClock.now
            var loop = messenger.messages(in: list[0].id).makeAsyncIterator()
            guard let newest = await loop.next(), newest.count >= Self.messages else { return print("no messages") }
            times.append(((listed - began) / .milliseconds(1), (ContinuousClock.now - began) / .milliseconds(1)))
            await client.close()
        }
        let lists = times.map(\.list).sorted()
        let all = times.map(\.messages).sorted()
        let size = Self.conversations * Self.messages
        print(
            "launch without a network, \(size) messages on the device: list after",
            String(format: "%.1f ms, newest messages after %.1f ms", lists[runs / 2], all[runs / 2]))
    }
}

extension Message {
    fileprivate var isSent: Bool { sequence != nil }
}
