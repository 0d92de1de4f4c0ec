import Foundation

@testable import PresenceTesting

// Short forms, and faults that apps do not script.
extension InMemoryServer {
    /// A server with these conversations.
    static func with(_ talks: [String: [String]] = ["c1": ["ana", "bob"]]) -> InMemoryServer {
        let server = InMemoryServer()
        for (id, members) in talks { server.add(conversation: id, of: members) }
        return server
    }

    func cut(_ type: String, _ cut: Cut) { state.withLock { $0.cuts[type] = cut } }
    func write(_ text: String, in talk: String = "c1") { write(text, from: "bob", in: talk) }
    func write(_ text: String, from sender: String) { write(text, from: sender, in: "c1") }
    func mark(_ user: String, delivered: Int? = nil, read: Int? = nil) {
        mark(user, delivered: delivered, read: read, in: "c1")
    }

    func edit(_ seq: Int, to text: String, in talk: String = "c1") {
        change { $0.replace(seq - 1, with: $0.talks[talk]!.log[seq - 1].merging(["text": text]) { $1 }, in: talk) }
    }

    /// Sends an object to all clients.
    func publish(_ object: Object) {
        change { state in
            for peer in state.peers.values { state.send(object, to: peer) }
        }
    }

    /// A backend notifies ana, or another user.
    func notify(_ title: String, replaces: [Int] = [], to user: String = "ana") {
        change { state in
            let number = state.notices[user, default: Notices()].items.count + 1
            let item: Object = ["id": "n\(number)", "kind": "test", "title": title]
            _ = state.notices[user, default: Notices()].add(item, at: Int(state.tick()), replacing: replaces)
        }
    }
}
