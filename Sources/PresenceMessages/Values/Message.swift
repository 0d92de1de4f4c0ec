import Foundation
import PresenceKit

/// A message of a conversation, as the signed-in user sees it.
public struct Message: Codable, Hashable, Sendable, Identifiable {
    /// The maximum number of earlier texts.
    public static let maxEditHistory = 10
    /// The version of the encoded form.
    public static let currentSchemaVersion = 1

    /// The fields are in a box: a list of thousands is copied at each of its changes, and the copy of a box is one
    /// reference.
    private var box: Box

    private final class Box: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    private var fields: Fields {
        get { box.fields }
        set { box = Box(newValue) }
    }

    /// The id, made once by the sending client. Sending the same id again does not create a second message.
    public var id: String { fields.id }
    /// The conversation.
    public var conversationId: String { fields.conversationId }
    /// The sender.
    public var senderId: String { fields.senderId }
    /// The text; empty after a deletion, or if there are only attachments.
    public var text: String {
        get { fields.text }
        set { fields.text = newValue }
    }
    /// When the server stored it, by its clock; before that when it was written, by this device's clock.
    public var timestamp: Date {
        get { fields.timestamp }
        set { fields.timestamp = newValue }
    }
    /// The delivery status.
    public var status: MessageStatus {
        get { fields.status }
        set { fields.status = newValue }
    }
    /// When this device saw the status change.
    public var statusUpdatedAt: Date {
        get { fields.statusUpdatedAt }
        set { fields.statusUpdatedAt = newValue }
    }
    /// The attachments, 10 at most.
    public var attachments: [MessageAttachment] {
        get { fields.attachments }
        set { fields.attachments = newValue }
    }
    /// The newest earlier texts, oldest first; `nil` until the first edit.
    public var editHistory: [MessageEdit]? {
        get { fields.editHistory }
        set { fields.editHistory = newValue }
    }
    /// The number of edits, including those dropped from the history.
    public var editCount: Int {
        get { fields.editCount }
        set { fields.editCount = newValue }
    }
    /// When it was deleted, or `nil`.
    public var deletedAt: Date? {
        get { fields.deletedAt }
        set { fields.deletedAt = newValue }
    }
    /// The user who deleted it: the sender or the group's owner.
    public var deletedBy: String? {
        get { fields.deletedBy }
        set { fields.deletedBy = newValue }
    }
    /// The other members who have read it and share that.
    public var readBy: [String] {
        get { fields.readBy }
        set { fields.readBy = newValue }
    }
    /// Whether the sender marked it as urgent.
    public var isPriority: Bool {
        get { fields.isPriority }
        set { fields.isPriority = newValue }
    }
    /// The sender's reason for the priority.
    public var priorityReason: String? {
        get { fields.priorityReason }
        set { fields.priorityReason = newValue }
    }
    /// The number in the conversation, from 1 without gaps; `nil` until the server has stored it.
    public var sequence: Int64? {
        get { fields.sequence }
        set { fields.sequence = newValue }
    }
    /// Increases with each change.
    public var version: Int64 {
        get { fields.version }
        set { fields.version = newValue }
    }
    /// Why sending failed.
    public var failure: PresenceError? {
        get { fields.failure }
        set { fields.failure = newValue }
    }
    /// Whether it is shown with a change that the server has not made yet. Not encoded.
    public var hasPendingChange: Bool {
        get { fields.hasPendingChange }
        set { fields.hasPendingChange = newValue }
    }
    /// The version to encode. Data of later versions is rejected.
    public var schemaVersion: Int {
        get { fields.schemaVersion }
        set { fields.schemaVersion = newValue }
    }

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
        box = Box(
            Fields(
                id: id, conversationId: conversationId, senderId: senderId, text: text, timestamp: timestamp,
                status: status, statusUpdatedAt: timestamp, attachments: attachments, editCount: 0, readBy: [],
                isPriority: isPriority, priorityReason: priorityReason, sequence: sequence, version: version,
                schemaVersion: Self.currentSchemaVersion))
    }

    /// Advances the status; returns whether it changed.
    @discardableResult
    public mutating func advance(to newer: MessageStatus, at date: Date) -> Bool {
        guard status.canTransition(to: newer) else { return false }
        var newest = fields
        newest.status = newer
        newest.statusUpdatedAt = date
        fields = newest
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
    /// Messages are equal if all of their fields are.
    public static func == (one: Message, other: Message) -> Bool { one.box === other.box || one.fields == other.fields }

    public func hash(into hasher: inout Hasher) { hasher.combine(fields) }

    /// - Throws: `DecodingError`, also for a later schema version, which this one would misread.
    public init(from decoder: any Decoder) throws { box = Box(try Fields(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }

    fileprivate struct Fields: Codable, Hashable, Sendable {
        let id: String
        let conversationId: String
        let senderId: String
        var text: String
        var timestamp: Date
        var status: MessageStatus
        var statusUpdatedAt: Date
        var attachments: [MessageAttachment]
        var editHistory: [MessageEdit]?
        var editCount: Int
        var deletedAt: Date?
        var deletedBy: String?
        var readBy: [String]
        var isPriority: Bool
        var priorityReason: String?
        var sequence: Int64?
        var version: Int64
        var failure: PresenceError?
        var hasPendingChange = false
        var schemaVersion: Int
    }
}

extension Message.Fields {
    private enum CodingKeys: String, CodingKey {
        case id, conversationId, senderId, text, timestamp, status, statusUpdatedAt, attachments, editHistory, editCount
        case deletedAt, deletedBy, readBy, isPriority, priorityReason, sequence, version, failure, schemaVersion
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        schemaVersion = try values.decodeIfPresent(Int.self, forKey: .schemaVersion) ?? 1
        guard schemaVersion <= Message.currentSchemaVersion else {
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
