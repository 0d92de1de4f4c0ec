import Foundation
import PresenceKit

/// A change of a message or of the user's settings of a conversation, that was promised to be made.
public struct MessageChange: Codable, Hashable, Sendable, Identifiable {
    public enum Kind: Codable, Hashable, Sendable {
        /// Another text for an own message.
        case edit(message: String, text: String)
        case delete(message: String)
        /// Without a time: until it is taken back.
        case mute(until: Date?)
        case unmute
        case archive(Bool)
    }

    public let id: String
    public let conversationId: String
    /// Who made it.
    public let user: String
    public let kind: Kind
    public let madeAt: Date
    /// Why the server did not make it.
    public var failure: PresenceError?

    public init(
        id: String = UUID().uuidString.lowercased(), conversationId: String, user: String, kind: Kind,
        madeAt: Date = Date()
    ) {
        self.id = id
        self.conversationId = conversationId
        self.user = user
        self.kind = kind
        self.madeAt = madeAt
    }

    /// The message that it is of.
    public var messageId: String? {
        switch kind {
        case .edit(let message, _), .delete(let message): message
        case .mute, .unmute, .archive: nil
        }
    }
}

// What is shown before the server has made it.
extension MessageChange {
    package func apply(to message: inout Message) {
        switch kind {
        case .edit(message.id, let text) where !message.isDeleted:
            if message.text != text { message.edit(text, at: madeAt) }
        case .delete(message.id):
            if !message.isDeleted { message.delete(by: user, at: madeAt) }
        default: return
        }
        message.hasPendingChange = true
    }

    package func apply(to conversation: inout ChatConversation) {
        switch kind {
        case .mute(let until): (conversation.isMuted, conversation.mutedUntil) = (true, until)
        case .unmute: (conversation.isMuted, conversation.mutedUntil) = (false, nil)
        case .archive(let isArchived):
            conversation.isArchived = isArchived
            conversation.archivedAt = isArchived ? conversation.archivedAt ?? madeAt : nil
        case .edit, .delete:
            if conversation.lastMessage != nil { apply(to: &conversation.lastMessage!) }
        }
    }
}
