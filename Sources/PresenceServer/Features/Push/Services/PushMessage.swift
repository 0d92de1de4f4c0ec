import Foundation
import PresenceProtocol

/// A push for one device, as it waits for a push service.
struct PushMessage: Codable, Sendable, Equatable {
    /// When it was due, in ms since 1970; `nil` in an entry of an earlier version.
    let at: Timestamp?
    /// Number of its message; `nil` in an entry of an earlier version.
    let seq: Int64?
    let pushToken: String
    let user: String
    let conversation: String
    let title: String
    let text: String
    var badge: Int64

    /// Bytes of JSON. Both services take 4,096 in all, of which ids and the rest are at most 1,500.
    private static let (mostTitle, mostText) = (400, 2_000)

    /// One for each device of a platform, of an event `push.due` as endpoints get it.
    ///
    /// - Parameter seq: Number of the message.
    static func all(for platform: String, in body: [UInt8], at time: Timestamp, of seq: Int64?) -> [PushMessage] {
        guard let due = try? JSONDecoder().decode(Due.self, from: Data(body)).data else { return [] }
        let (title, text) = (cut(due.title, to: mostTitle), cut(due.text, to: mostText))
        return due.devices.filter { $0.platform == platform }.map {
            PushMessage(
                at: time, seq: seq, pushToken: $0.token, user: due.user, conversation: due.conversation,
                title: title, text: text, badge: due.badge)
        }
    }

    init(
        at: Timestamp?, seq: Int64?, pushToken: String, user: String, conversation: String, title: String, text: String,
        badge: Int64
    ) {
        (self.at, self.seq) = (at, seq)
        (self.pushToken, self.user, self.conversation) = (pushToken, user, conversation)
        (self.title, self.text, self.badge) = (title, text, badge)
    }

    /// The same push with other texts, both as JSON.
    func saying(title: [UInt8], text: [UInt8]) -> PushMessage {
        func read(_ json: [UInt8]) -> String { (try? JSONDecoder().decode(String.self, from: Data(json))) ?? "" }
        return PushMessage(
            at: at, seq: seq, pushToken: pushToken, user: user, conversation: conversation,
            title: Self.cut(read(title), to: Self.mostTitle), text: Self.cut(read(text), to: Self.mostText),
            badge: badge)
    }

    /// As it waits; `nil` for an entry that no server has written.
    init?(_ body: [UInt8]) {
        guard let message = try? JSONDecoder().decode(PushMessage.self, from: Data(body)) else { return nil }
        self = message
    }

    var body: [UInt8] {
        // Texts and numbers always have JSON.
        (try? JSONEncoder.service.encode(self)).map { Array($0) } ?? []
    }

    private static let start = Array("{\"at\":".utf8)

    /// When a waiting push was due, read without decoding it: of the sorted members it is the first.
    static func at(in body: [UInt8]) -> Timestamp? {
        guard body.starts(with: start) else { return nil }
        let digits = body.dropFirst(start.count).prefix { (0x30...0x39).contains($0) }
        return Timestamp(String(decoding: digits, as: UTF8.self))
    }

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
            let conversation: String
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

extension JSONEncoder {
    /// For push services: the same value is the same text.
    static var service: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
