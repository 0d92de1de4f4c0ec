import Foundation

/// The parts of the server's messages about conversations that a replay needs, as JSON.
enum ChatWire {
    struct Message: Decodable, Equatable {
        var id: String
        var seq: Int64
        var version: Int64
        var from: String
        var text: String
    }

    struct Member: Decodable {
        var user: String
        var read: Int64?
        var delivered: Int64?
    }

    /// A conversation as one of its members sees it.
    struct Register: Decodable {
        var id: String
        var version: Int64
        var members: [Member]?
        var last: Int64?
        var lastMessage: Message?
        var unread: Int64?
    }

    /// `message` events, `sent`.
    struct OneMessage: Decodable {
        var id: Int64?
        var conversation: String
        var message: Message
        var conversationVersion: Int64?
    }

    /// `conversation` events.
    struct OneConversation: Decodable {
        var conversation: Register
    }

    struct Followed: Decodable {
        var conversation: String
        var messagesVersion: Int64?
        var messages: [Message]?
        var reset: Bool?
    }

    struct Subscribed: Decodable {
        var conversations: [Followed]?
        var conversationList: [Register]?
        var more: Bool?
    }

    struct Page: Decodable {
        var conversation: String
        var messages: [Message]
        var more: Bool?
    }

    /// The kind of a message, by its first member; `nil` for all others.
    enum Kind: String, CaseIterable {
        case message, sent, conversation, messages, subscribed

        init?(_ text: UnsafeRawBufferPointer) {
            guard let kind = Self.beginnings.first(where: { text.starts(with: $0.text) })?.kind else { return nil }
            self = kind
        }

        private static let beginnings = allCases.map { kind in
            (kind: kind, text: Array("{\"type\":\"\(kind.rawValue)\",".utf8))
        }
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ text: UnsafeRawBufferPointer) throws(Failure) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(text))
        } catch {
            throw Failure("the server sent something that cannot be read: \(error)")
        }
    }

    /// A text of this many characters, which needs no escapes in a JSON string.
    static func text(_ length: Int, _ number: Int) -> String {
        let words = "\(number) " + String(repeating: "as they said it then ", count: length / 21 + 1)
        return String(words.prefix(min(max(length, 1), 5_000)))
    }
}
