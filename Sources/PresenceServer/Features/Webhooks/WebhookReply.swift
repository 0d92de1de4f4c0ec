import PresenceProtocol
import Redis

/// What the store says of a queue.
enum WebhookReply {
    case words([RedisValue])
    /// It did not say: it may be asked again.
    case nothing
    /// What waits there cannot be read or written, until somebody mends it.
    case damaged

    /// Until it is asked again.
    var pause: Milliseconds { if case .damaged = self { 60_000 } else { 1_000 } }
}

extension QueuedWebhook {
    /// Events from `ID, "TRIES SUBJECT BODY", …`, and the ids of those that are none.
    static func all(_ words: ArraySlice<RedisValue>) -> (events: [QueuedWebhook], damaged: [String]) {
        var (events, damaged): ([QueuedWebhook], [String]) = ([], [])
        for index in stride(from: words.startIndex, to: words.endIndex - 1, by: 2) {
            guard let id = words[index].string else { continue }
            if let event = words[index + 1].bytes.flatMap({ QueuedWebhook(id: id, $0) }) {
                events.append(event)
            } else {
                damaged.append(id)
            }
        }
        return (events, damaged)
    }
}
