import Foundation
import PresenceKit

// The outbox in the client's storage. An earlier version's writes can be read.
extension Outbox {
    /// Stored beside a rejected write.
    static let failureKind = "messageFailure"
    static let messengerKinds: Set = ["message", "messageChange", failureKind, "conversationMark"]
    static let notificationKinds: Set = ["notificationMarks", "notificationSettings"]

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
        let number = entry.number
        return switch entry.work {
        case .send(let message, let after):
            try write(
                entry, "message", Stored(message: message, after: after, number: number), at: message.timestamp)
        case .change(let change):
            try write(entry, "messageChange", StoredChange(change: change, number: number), at: change.madeAt)
        case .mark(let mark):
            try write(entry, "conversationMark", mark, in: mark.conversation, mayGetLost: true)
        case .notifications(let marks): try write(entry, "notificationMarks", marks)
        case .settings(let settings): try write(entry, "notificationSettings", settings, in: notifications)
        }
    }

    static func failure(_ entry: Entry, _ error: PresenceError) throws -> QueuedWrite {
        try write(entry, failureKind, error, id: failureID(entry.id))
    }

    private static func write(
        _ entry: Entry, _ kind: String, _ body: some Encodable, id: String? = nil, in lane: String? = nil,
        at date: Date = Date(), mayGetLost: Bool? = nil
    ) throws -> QueuedWrite {
        QueuedWrite(
            id: id ?? entry.id, owner: entry.owner, lane: lane ?? entry.work.lane, kind: kind,
            body: try JSONEncoder().encode(body), queuedAt: date, mayGetLost: mayGetLost)
    }

    /// `nil` if it cannot be read. A number only if it was stored.
    static func read(_ write: QueuedWrite) -> (work: Work, number: Int?)? {
        func body<Body: Decodable>(_ type: Body.Type) -> Body? { try? JSONDecoder().decode(type, from: write.body) }
        switch write.kind {
        case "message": return body(Stored.self).map { (.send($0.message, after: $0.after), $0.number) }
        case "messageChange": return body(StoredChange.self).map { (.change($0.change), $0.number) }
        case "conversationMark": return body(Ask.Mark.self).map { (.mark($0), nil) }
        case "notificationMarks": return body(Ask.NotificationMarks.self).map { (.notifications($0), nil) }
        case "notificationSettings": return body(NotificationSettings.self).map { (.settings($0), nil) }
        default: return nil
        }
    }
}
