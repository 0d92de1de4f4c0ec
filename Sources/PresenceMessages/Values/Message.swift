import Foundation
import PresenceKit

/// One message of a conversation, as the own user sees it.
public struct Message: Codable, Hashable, Sendable, Identifiable {
    /// How many earlier texts are kept.
    public static let maxEditHistory = 10
    /// The form that this version of the library stores.
    public static let currentSchemaVersion = 1

    /// Made by the client that sends it, once: the same message sent again is the same message.
    public let id: String
    /// Where it stands.
    public let conversationId: String
    /// Who wrote it.
    public let senderId: String
    /// What it says; empty after a deletion, or beside attachments alone.
    public var text: String
    /// When the server stored it, by its clock; before that when it was written, by this device's.
    public var timestamp: Date
    /// How far it has come.
    public var status: MessageStatus
    /// When this device saw the status change.
    public var statusUpdatedAt: Date
    /// What is beside the text; 10 at most.
    public var attachments: [MessageAttachment]
    /// The newest earlier texts, oldest first; `nil` until the first edit.
    public var editHistory: [MessageEdit]?
    /// How often it was edited, those that the history has dropped counted.
    public var editCount: Int
    /// When it was deleted; `nil` if it was not.
    public var deletedAt: Date?
    /// Who deleted it: its sender, or the owner of the group.
    public var deletedBy: String?
    /// The other members who have read it, as far as they show that.
    public var readBy: [String]
    /// Whether the sender marked it as urgent.
    public var isPriority: Bool
    /// Why, in the sender's words.
    public var priorityReason: String?
    /// Its number in the conversation, from 1 without gaps; `nil` until the server has stored it.
    public var sequence: Int64?
    /// Grows with each change of it.
    public var version: Int64
    /// Why it failed.
    public var failure: PresenceError?
    /// Whether it is shown with a change that the server has not made yet. It is not stored.
    public var hasPendingChange = false
    /// The form that is encoded; data of a later one is refused.
    public var schemaVersion: Int

    /// Whether the text was ever replaced.
    public var isEdited: Bool { editCount > 0 }
    /// Whether it was deleted: its place and sender stay.
    public var isDeleted: Bool { deletedAt != nil }
    /// How many others have read it, as far as they show that.
    public var readCount: Int { readBy.count }

    /// Makes a message; by default one that is written now, with an id of its own.
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

    /// Moves the status forward; whether that was a move.
    @discardableResult
    public mutating func advance(to newer: MessageStatus, at date: Date) -> Bool {
        guard status.canTransition(to: newer) else { return false }
        status = newer
        statusUpdatedAt = date
        return true
    }

    /// Replaces the text; the former one goes into the history, whose oldest is dropped if it is full.
    public mutating func edit(_ newText: String, at date: Date) {
        editHistory = ((editHistory ?? []) + [MessageEdit(text: text, editedAt: date)]).suffix(Self.maxEditHistory)
        editCount += 1
        text = newText
    }

    /// Empties it and keeps its place.
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

    /// - Throws: `DecodingError` for data of a later schema version, which this one would misread.
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
