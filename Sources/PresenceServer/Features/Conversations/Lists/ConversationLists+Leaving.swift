import PresenceCore
import PresenceProtocol
import Redis

/// Watchers who were taken out of a conversation, and missed the event that says so.
extension ConversationLists {
    func tellRemoved(_ id: ConversationID, at version: Int64, to subscribers: [Subscriber]) {
        let frame = Self.frame(ConversationRecord.removed(id, version: version), at: version)
        for subscriber in subscribers where !subscriber.connection.isClosed {
            keep(id, version, frame, for: subscriber)
        }
    }

    /// The inbox has still to hear of it (`Joining`), so the conversation itself says when they left. All of the subscribers are
    /// one user's.
    func readLeaving(_ id: ConversationID, for subscribers: [Subscriber]) {
        let user = subscribers[0].user
        let key = shard.partitions.keys(of: id).conversation(id)
        shard.store.command(["HMGET", key, "m:" + user.string, "j:" + user.string], lane: .commands) { [self] result in
            switch result {
            case .failure(let failure): if !failure.isLasting { postpone([id], for: subscribers) }
            case .success(let value):
                let fields = value.array?.map(\.string) ?? []
                // Who is in it again hears of that.
                guard fields.count == 2, fields[0] == nil else { return }
                if let version = fields[1].flatMap({ Int64($0) }) {
                    tellRemoved(id, at: version, to: subscribers)
                } else {
                    readLeft(id, for: subscribers)
                }
            }
        }
    }

    /// The inbox has heard of it since it was read.
    private func readLeft(_ id: ConversationID, for subscribers: [Subscriber]) {
        reading.inbox(of: subscribers[0].user) { [self] result in
            switch result {
            case .failure(let failure): if !failure.isLasting { postpone([id], for: subscribers) }
            case .success(let inbox):
                if let version = inbox.leaving(id) { tellRemoved(id, at: version, to: subscribers) }
            }
        }
    }
}
