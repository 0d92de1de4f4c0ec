import Foundation
import PresenceKit

/// A change of a message, or of the user's settings of a conversation, that the library will make.
public struct MessageChange: Codable, Hashable, Sendable, Identifiable {
    /// The kind of change.
    public enum Kind: Codable, Hashable, Sendable {
        /// Replace the text of the user's own message.
        case edit(message: String, text: String)
        /// Delete the content of a message.
        case delete(message: String)
        /// Mute; without a time, until it is unmuted.
        case mute(until: Date?)
        /// Unmute.
        case unmute
        /// Archive, or with `false` unarchive.
        case archive(Bool)
    }

    /// A unique id, made on this device.
    public let id: String
    /// The conversation of the message or settings.
    public let conversationId: String
    /// The user who made the change.
    public let user: String
    /// The kind of change.
    public let kind: Kind
    /// When the user made it, by this device's clock.
    public let madeAt: Date
    /// Why the server rejected it.
    public var failure: PresenceError?

    /// Creates a change; by default made now, with a new id.
    public init(
        id: String = UUID().uuidString.lowercased(), conversationId: String, user: String, kind: Kind,
        madeAt: Date = Date()
    ) {
        (self.id, self.conversationId, self.user) = (id, conversationId, user)
        (self.kind, self.madeAt) = (kind, madeAt)
    }

    /// The id of the message, if the change is one of a message.
    public var messageId: String? {
        switch kind {
        case .edit(let message, _), .delete(let message): message
        case .mute, .unmute, .archive: nil
        }
    }
}

// Applying changes before the server has made them.
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
