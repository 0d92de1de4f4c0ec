import Foundation
import PresenceProtocol

/// A push for one device, as it waits for a push service.
struct PushMessage: Codable, Sendable, Equatable {
    /// When it was due, in ms since 1970.
    let at: Timestamp
    /// Number of its message.
    let seq: Int64
    let pushToken: String
    let user: String
    /// The name of its place, if it is a push of a notification (``PushPlace``).
    let conversation: String
    private(set) var title: String
    private(set) var text: String
    var badge: Int64
    var notification: PushedNotification?
    var summary: PushSummary?

    /// Bytes of JSON. Both services take 4,096 in all, of which ids and the rest are at most 1,500.
    private static let (mostTitle, mostText) = (400, 2_000)
    /// Bytes less for the text of a notification: its id and kind are beside the user's id.
    private static let about = 400

    /// One for each device of a platform, of an event `push.due` as endpoints get it.
    ///
    /// - Parameter seq: Number of the message.
    static func all(for platform: String, in body: [UInt8], at time: Timestamp, of seq: Int64) -> [PushMessage] {
        guard let due = try? JSONDecoder().decode(Due.self, from: Data(body)).data else { return [] }
        let notification = due.notification
        let ofOthers = notification.map { "#\($0.seq).\($0.tag)" } ?? due.summary.map { _ in PushPlace.summary }
        guard let place = due.conversation ?? ofOthers else { return [] }
        let title = cut(due.title, to: mostTitle)
        let text = cut(due.text, to: notification == nil ? mostText : mostText - about)
        return due.devices.filter { $0.platform == platform }.map {
            PushMessage(
                at: time, seq: seq, pushToken: $0.token, user: due.user, conversation: place, title: title, text: text,
                badge: due.badge, notification: notification, summary: due.summary)
        }
    }

    /// A newer push with the same tag takes the place of the one that the device shows.
    var tag: String { notification.map { "notification-\($0.tag)" } ?? (summary == nil ? conversation : "summary") }
    /// Devices group the shown pushes by it.
    var thread: String { notification?.kind ?? (summary == nil ? conversation : "summary") }
    var urgency: PushUrgency { notification?.urgency ?? .high }
    /// Seconds after which services need not deliver it any more; `nil`: there is no such time.
    func life(at time: Timestamp) -> Int64? { notification?.expires.map { max(0, ($0 - time) / 1_000) } }

    /// The texts that devices show. Without any, a device still shows that there is something.
    var shown: (title: String, text: String) {
        guard title.isEmpty, text.isEmpty else { return (title, text) }
        if let summary { return ("", summary.text) }
        return ("", notification == nil ? "New message" : "New notification")
    }

    /// The members that apps get beside the texts.
    var subjects: [String: Any] {
        if let summary { return ["user": user, "summary": summary.counts] }
        guard let notification else { return ["user": user, "conversation": conversation] }
        let (seq, id, kind, tag) = (notification.seq, notification.id, notification.kind, notification.tag)
        return ["user": user, "notification": ["seq": seq, "id": id, "kind": kind, "tag": tag] as [String: Any]]
    }

    /// Both are given as JSON; a title of `nil` stays.
    mutating func set(title: [UInt8]?, text: [UInt8]) {
        func read(_ json: [UInt8]) -> String { (try? JSONDecoder().decode(String.self, from: Data(json))) ?? "" }
        if let title { self.title = Self.cut(read(title), to: Self.mostTitle) }
        self.text = Self.cut(read(text), to: Self.mostText)
    }

    /// For a service that takes no more bytes.
    var withoutText: PushMessage {
        var message = self
        message.text = ""
        return message
    }

    /// As it waits: the same message is the same text.
    var body: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and numbers always have JSON.
        return (try? encoder.encode(self)).map { Array($0) } ?? []
    }

    /// A user's device: its pushes are sent one after the other. Neither id nor token has a space.
    var subject: String { "\(user.utf8.count):\(user)\(pushToken)" }

    /// As much of a text as takes so many bytes in JSON. A cut text ends with an ellipsis.
    static func cut(_ text: String, to most: Int) -> String {
        let ellipsis: Unicode.Scalar = "…"
        var (bytes, end) = (0, text.unicodeScalars.startIndex)
        for index in text.unicodeScalars.indices {
            let scalar = text.unicodeScalars[index]
            switch scalar.value {
            case 0x22, 0x5C: bytes += 2
            case ..<0x20: bytes += 6
            default: bytes += UTF8.width(scalar)
            }
            if bytes <= most - UTF8.width(ellipsis) { end = text.unicodeScalars.index(after: index) }
            if bytes > most { return String(text.unicodeScalars[..<end]) + String(ellipsis) }
        }
        return text
    }

    private struct Due: Decodable {
        let data: Content

        struct Content: Decodable {
            let user: String
            let conversation: String?
            let notification: PushedNotification?
            let summary: PushSummary?
            let devices: [Device]
            let title: String
            let text: String
            let badge: Int64
        }

        struct Device: Decodable {
            let platform: String
            private let pushToken: String?
            private let subscription: WebSubscription?

            /// The text that a push's entry has.
            var token: String { pushToken ?? subscription?.text ?? "" }
        }
    }
}

extension PushMessage {
    /// As it waits; `nil` for an entry that no server has written.
    init?(_ body: [UInt8]) {
        guard let message = try? JSONDecoder().decode(PushMessage.self, from: Data(body)) else { return nil }
        self = message
    }
}
