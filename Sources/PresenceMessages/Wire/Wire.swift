import Foundation
import PresenceKit

/// The JSON objects of the protocol. Unknown members, from a later server, are ignored.
enum Wire {
    struct Attachment: Codable {
        var id: String
        var kind: String
        var url: String
        var thumbnailURL: String?
        var sizeBytes: Int64
    }

    struct Edit: Codable {
        var text: String
        var at: Int64
    }

    struct Priority: Codable {
        var reason: String?
    }

    struct Message: Codable {
        var id: String
        var seq: Int64
        var version: Int64
        var from: String
        var at: Int64
        var text: String
        var attachments: [Attachment]?
        var priority: Priority?
        var editedAt: Int64?
        var edits: [Edit]?
        var editCount: Int?
        var deletedAt: Int64?
        var deletedBy: String?
    }

    struct Member: Codable {
        var user: String
        var read: Int64?
        var delivered: Int64?
    }

    struct Conversation: Codable {
        var id: String
        var version: Int64
        var removed: Bool?
        var kind: String?
        var participants: [String]?
        var members: [Member]?
        var name: String?
        var owner: String?
        var metadata: [String: JSONValue]?
        var createdAt: Int64?
        var first: Int64?
        var last: Int64?
        var lastMessage: Message?
        var unread: Int?
        var hasUnreadPriority: Bool?
        var priorityCount: Int?
        var muted: Bool?
        var mutedUntil: Int64?
        var archived: Bool?
        var archivedAt: Int64?
        var request: Bool?
    }

    /// A conversation's messages in `subscribed`, or a part of them.
    struct Followed: Decodable {
        var conversation: String
        var messagesVersion: Int64?
        var messages: [Message]?
        var first: Int64?
        var last: Int64?
        var reset: Bool?
    }

    struct Subscribed: Decodable {
        var conversations: [Followed]?
        var conversationList: [Conversation]?
    }

    /// The reply to an upload.
    struct Uploaded: Decodable {
        var attachment: Attachment
    }

    /// `message` events, `sent`, `messageUpdated`.
    struct OneMessage: Decodable {
        var conversation: String
        var message: Message
        var conversationVersion: Int64?
    }

    /// `conversation` events, `conversationInfo`, `conversationCreated`.
    struct OneConversation: Decodable {
        var conversation: Conversation
    }

    /// `messagesReset`: the server cannot continue the subscription.
    struct Reset: Decodable {
        var conversation: String
    }

    /// A page of messages. A long one arrives in parts, oldest messages first.
    struct Page: Decodable {
        var conversation: String
        var messages: [Message]
        var first: Int64
        var last: Int64

        /// - Throws: `protocolViolation` if a part cannot be decoded.
        static func joining(_ parts: [Data]) throws(PresenceError) -> Page {
            var whole = try read(Page.self, parts.last ?? Data())
            for part in parts.dropLast().reversed() {
                whole.messages.insert(contentsOf: try read(Page.self, part).messages, at: 0)
            }
            return whole
        }
    }

    /// - Throws: `protocolViolation` if the data cannot be decoded.
    static func read<Value: Decodable>(_ type: Value.Type, _ data: Data) throws(PresenceError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw PresenceError(.protocolViolation, "the server's reply cannot be decoded: \(error)")
        }
    }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

extension MessageAttachment {
    init(_ wire: Wire.Attachment) {
        // An unknown kind, from a later server, is shown as a file.
        self.init(
            id: wire.id, type: Kind(rawValue: wire.kind) ?? .file, url: wire.url, thumbnailURL: wire.thumbnailURL,
            sizeBytes: wire.sizeBytes)
    }
}

extension Message {
    init(_ wire: Wire.Message, in conversation: String) {
        self.init(
            id: wire.id, conversationId: conversation, senderId: wire.from, text: wire.text,
            timestamp: Date(milliseconds: wire.at), status: .sent,
            attachments: (wire.attachments ?? []).map { MessageAttachment($0) },
            isPriority: wire.priority != nil, priorityReason: wire.priority?.reason, sequence: wire.seq,
            version: wire.version)
        if let edits = wire.edits {
            editHistory = edits.map { MessageEdit(text: $0.text, editedAt: Date(milliseconds: $0.at)) }
        }
        if let count = wire.editCount { editCount = count }
        if let deleted = wire.deletedAt {
            deletedAt = Date(milliseconds: deleted)
            deletedBy = wire.deletedBy
        }
    }
}

extension ChatConversation {
    /// The conversation as `viewer` sees it; `nil` if they are no longer in it.
    init?(_ wire: Wire.Conversation, of viewer: String?) {
        guard wire.removed != true, let participants = wire.participants else { return nil }
        self.init(
            id: wire.id, kind: wire.kind == "direct" ? .direct : .group, participants: participants,
            version: wire.version, groupName: wire.name, owner: wire.owner, viewer: viewer,
            createdAt: Date(milliseconds: wire.createdAt ?? 0))
        members = (wire.members ?? []).map { Member(user: $0.user, read: $0.read, delivered: $0.delivered ?? 0) }
        metadata = wire.metadata
        firstSequence = wire.first ?? 1
        lastSequence = wire.last ?? 0
        lastMessage = wire.lastMessage.map { Message($0, in: wire.id) }
        unreadCount = wire.unread ?? 0
        hasUnreadPriority = wire.hasUnreadPriority ?? false
        priorityCount = wire.priorityCount ?? 0
        isMuted = wire.muted ?? false
        mutedUntil = wire.mutedUntil.map(Date.init(milliseconds:))
        isArchived = wire.archived ?? false
        archivedAt = wire.archivedAt.map(Date.init(milliseconds:))
        isRequest = wire.request ?? false
    }
}
