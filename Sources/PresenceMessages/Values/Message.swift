import Foundation
import PresenceKit

/// A message of a conversation, as the signed-in user sees it.
public struct Message: Codable, Hashable, Sendable, Identifiable {
    /// The maximum number of earlier texts.
    public static let maxEditHistory = 10
    /// The version of the encoded form.
    public static let currentSchemaVersion = 1

    /// The id, made once by the sending client. Sending the same id again does not create a second message.
    public let id: String
    /// The conversation.
    public let conversationId: String
    /// The sender.
    public let senderId: String
    /// The text; empty after a deletion, or if there are only attachments.
    public var text: String
    /// When the server stored it, by its clock; before that when it was written, by this device's clock.
    public var timestamp: Date
    /// The delivery status.
    public var status: MessageStatus
    /// When this device saw the status change.
    public var statusUpdatedAt: Date
    /// The attachments, 10 at most.
    public var attachments: [MessageAttachment]
    /// The newest earlier texts, oldest first; `nil` until the first edit.
    public var editHistory: [MessageEdit]?
    /// The number of edits, including those dropped from the history.
    public var editCount: Int
    /// When it was deleted, or `nil`.
    public var deletedAt: Date?
    /// The user who deleted it: the sender or the group's owner.
    public var deletedBy: String?
    /// The other members who have read it and share that.
    public var readBy: [String]
    /// Whether the sender marked it as urgent.
    public var isPriority: Bool
    /// The sender's reason for the priority.
    public var priorityReason: String?
    /// The number in the conversation, from 1 without gaps; `nil` until the server has stored it.
    public var sequence: Int64?
    /// Increases with each change.
    public var version: Int64
    /// Why sending failed.
    public var failure: PresenceError?
    /// Whether it is shown with a change that the server has not made yet. Not encoded.
    public var hasPendingChange = false
    /// The version to encode. Data of later versions is rejected.
    public var schemaVersion: Int

    /// Whether the text was edited.
    public var isEdited: Bool { editCount > 0 }
    /// Whether it was deleted. Its place and sender remain.
    public var isDeleted: Bool { deletedAt != nil }
    /// The number of other members who have read it and share that.
    public var readCount: Int { readBy.count }

    /// Creates a message; by default written now, with a new id.
    public init(
        id: String = UUID().uuidString.lowercased(), conversationId: String, senderId: String, text: String,
        timestamp: Date = Date(), status: MessageStatus = .sending, attachments: [MessageAttachment] = [],
        isPriority: Bool = false, priorityReason: String? = nil, sequence: Int64? = nil, version: Int64 = 0
    ) {
        self.id = id
        self.conversationId = conversationId
        self.senderId = senderId
        self.text = text
        self.timestamp = timestamp
        self.status = status
        statusUpdatedAt = timestamp
        self.attachments = attachments
        editCount = 0
        readBy = []
        self.isPriority = isPriority
        self.priorityReason = priorityReason
        self.sequence = sequence
        self.version = version
        schemaVersion = Self.currentSchemaVersion
    }

    /// Advances the status; returns whether it changed.
    @discardableResult
    public mutating func advance(to newer: MessageStatus, at date: Date) -> Bool {
        guard status.canTransition(to: newer) else { return false }
        status = newer
        statusUpdatedAt = date
        return true
    }

    /// Replaces the text. The former text is added to the history, which drops its oldest text if it is full.
    public mutating func edit(_ newText: String, at date: Date) {
        editHistory = ((editHistory ?? []) + [MessageEdit(text: text, editedAt: date)]).suffix(Self.maxEditHistory)
        editCount += 1
        text = newText
    }

    /// Deletes the content and keeps the place.
    public mutating func delete(by user: String?, at date: Date) {
        (text, attachments, editHistory) = ("", [], nil)
        (isPriority, priorityReason) = (false, nil)
        (deletedAt, deletedBy) = (date, user)
    }
}

extension Message {
    private enum CodingKeys: String, CodingKey {
        case id, conversationId, senderId, text, timestamp, status, statusUpdatedAt, attachments, editHistory, editCount
        case deletedAt, deletedBy, readBy, isPriority, priorityReason, sequence, version, failure, schemaVersion
    }

    /// - Throws: `DecodingError`, also for a later schema version, which this one would misread.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        schemaVersion = try values.decodeIfPresent(Int.self, forKey: .schemaVersion) ?? 1
        guard schemaVersion <= Self.currentSchemaVersion else {
            throw DecodingError.dataCorruptedError(
                forKey: .schemaVersion, in: values, debugDescription: "a message of schema version \(schemaVersion)")
        }
        id = try values.decode(String.self, forKey: .id)
        conversationId = try values.decode(String.self, forKey: .conversationId)
        senderId = try values.decode(String.self, forKey: .senderId)
        text = try values.decode(String.self, forKey: .text)
        timestamp = try values.decode(Date.self, forKey: .timestamp)
        status = try values.decodeIfPresent(MessageStatus.self, forKey: .status) ?? .sending
        statusUpdatedAt = try values.decodeIfPresent(Date.self, forKey: .statusUpdatedAt) ?? timestamp
        attachments = try values.decodeIfPresent([MessageAttachment].self, forKey: .attachments) ?? []
        editHistory = try values.decodeIfPresent([MessageEdit].self, forKey: .editHistory)
        editCount = try values.decodeIfPresent(Int.self, forKey: .editCount) ?? 0
        deletedAt = try values.decodeIfPresent(Date.self, forKey: .deletedAt)
        deletedBy = try values.decodeIfPresent(String.self, forKey: .deletedBy)
        readBy = try values.decodeIfPresent([String].self, forKey: .readBy) ?? []
        isPriority = try values.decodeIfPresent(Bool.self, forKey: .isPriority) ?? false
        priorityReason = try values.decodeIfPresent(String.self, forKey: .priorityReason)
        sequence = try values.decodeIfPresent(Int64.self, forKey: .sequence)
        version = try values.decodeIfPresent(Int64.self, forKey: .version) ?? 0
        failure = try values.decodeIfPresent(PresenceError.self, forKey: .failure)
    }
}
