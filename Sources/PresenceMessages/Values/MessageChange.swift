import Foundation
import PresenceKit

/// A change of a message or of the user's settings of a conversation, that was promised to be made.
public struct MessageChange: Codable, Hashable, Sendable, Identifiable {
    /// What is to be changed.
    public enum Kind: Codable, Hashable, Sendable {
        /// Another text for an own message.
        case edit(message: String, text: String)
        /// A message is emptied.
        case delete(message: String)
        /// Without a time: until it is taken back.
        case mute(until: Date?)
        /// A muting is taken back.
        case unmute
        /// Put away, or with `false` taken back.
        case archive(Bool)
    }

    /// Made here, and never again.
    public let id: String
    /// The conversation that it is in, or of.
    public let conversationId: String
    /// Who made it.
    public let user: String
    /// What is to be changed.
    public let kind: Kind
    /// When the user asked for it, by this device's clock.
    public let madeAt: Date
    /// Why the server did not make it.
    public var failure: PresenceError?

    /// Makes a change; by default one that is asked for now, with an id of its own.
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
