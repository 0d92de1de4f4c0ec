import Foundation
import PresenceKit

// The outbox in the client's storage.
extension Outbox {
    static let kind = "message"
    static let changeKind = "messageChange"
    /// Stored beside a rejected write.
    static let failureKind = "messageFailure"
    static let kinds: Set = [kind, changeKind]

    private struct Stored: Codable {
        var message: Message
        var after: Int64
        var number: Int
    }

    private struct StoredChange: Codable {
        var change: MessageChange
        var number: Int
    }

    static func failureID(_ id: String) -> String { id + ".failure" }

    static func write(_ entry: Entry) throws -> QueuedWrite {
        switch entry.work {
        case .send(let message, let after):
            let stored = Stored(message: message, after: after, number: entry.number)
            return write(entry, entry.id, kind, try JSONEncoder().encode(stored), at: message.timestamp)
        case .change(let change):
            let stored = StoredChange(change: change, number: entry.number)
            return write(entry, entry.id, changeKind, try JSONEncoder().encode(stored), at: change.madeAt)
        }
    }

    static func failure(_ entry: Entry, _ error: PresenceError) throws -> QueuedWrite {
        write(entry, failureID(entry.id), failureKind, try JSONEncoder().encode(error), at: Date())
    }

    private static func write(
        _ entry: Entry, _ id: String, _ kind: String, _ body: Data, at date: Date
    ) -> QueuedWrite {
        QueuedWrite(id: id, owner: entry.owner, lane: entry.lane, kind: kind, body: body, queuedAt: date)
    }

    /// `nil` if it cannot be read.
    static func read(_ write: QueuedWrite) -> (Work, number: Int)? {
        if write.kind == kind {
            return (try? JSONDecoder().decode(Stored.self, from: write.body)).map {
                (Work.send($0.message, after: $0.after), number: $0.number)
            }
        }
        return (try? JSONDecoder().decode(StoredChange.self, from: write.body)).map {
            (Work.change($0.change), number: $0.number)
        }
    }
}
