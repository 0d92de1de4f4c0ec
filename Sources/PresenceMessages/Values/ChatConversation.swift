import Foundation

/// A conversation with its messages, as the signed-in user sees it. (PresenceKit's `Conversation` with the same id is
/// only about typing.)
public struct ChatConversation: Codable, Hashable, Sendable, Identifiable {
    /// The kind of a conversation.
    public enum Kind: String, Codable, Hashable, Sendable {
        /// Between two users; each pair has only one.
        case direct
        /// 2 to 10 users, with an owner.
        case group
    }

    /// A member with their marks.
    public struct Member: Codable, Hashable, Sendable, Identifiable {
        /// The same as ``user``.
        public var id: String { user }
        /// The user's id.
        public let user: String
        /// The newest message that the member has read; `nil` if the member or the signed-in user does not share that.
        public var read: Int64?
        /// The newest message that has arrived on one of the member's devices.
        public var delivered: Int64

        /// Creates a member; by default nothing is delivered or read.
        public init(user: String, read: Int64? = 0, delivered: Int64 = 0) {
            (self.user, self.read, self.delivered) = (user, read, delivered)
        }
    }

    /// The maximum number of participants of a group, unless the server has another limit.
    public static let maximumParticipants = 10
    /// The version of the encoded form. Later versions are rejected.
    public static let currentSchemaVersion = 1

    /// The id, also that of PresenceKit's `Conversation`.
    public let id: String
    /// Increases with each change.
    public var version: Int64
    /// Whether it is a direct conversation or a group.
    public var kind: Kind
    /// The ids of all members, including the signed-in user.
    public var participants: [String]
    /// The members with their marks.
    public var members: [Member]
    /// The name of a group, or `nil`.
    public var groupName: String?
    /// The owner of a group: its creator, or a successor; `nil` in a direct conversation.
    public var owner: String?
    /// Data that the app set at the creation.
    public var metadata: [String: JSONValue]?
    /// When it was created, by the server's clock.
    public var createdAt: Date
    /// The number of the oldest message that the server stores.
    public var firstSequence: Int64
    /// The number of the newest message; 0 if there is none.
    public var lastSequence: Int64
    /// The newest message; `nil` if there is none.
    public var lastMessage: Message?
    /// The user whose view this is; `nil` if unknown.
    public var viewer: String?
    /// The number of messages that the user has not read.
    public var unreadCount: Int
    /// Whether an unread message of another user has priority.
    public var hasUnreadPriority: Bool
    /// The number of unread messages of other users that have priority.
    public var priorityCount: Int
    /// Whether the user muted it. The mute may have ended: see ``isMuted(at:)``.
    public var isMuted: Bool
    /// When the mute ends; `nil` if it has no end.
    public var mutedUntil: Date?
    /// Whether the user archived it.
    public var isArchived: Bool
    /// When the user archived it; `nil` unless ``isArchived``.
    public var archivedAt: Date?
    /// Whether a user who is no contact has begun it, and this user has not answered
    /// (`PresenceClient.setVisibility(presence:lastSeen:receipts:findable:conversationsFrom:)`). The other sees neither
    /// what this user has read nor whether they type until this user writes there, or accepts
    /// (`PresenceClient.answerContact(_:accept:)`).
    public var isRequest = false
    /// Whether it comes from this device, and the server has not confirmed it since the launch. Not encoded.
    public var isStale = false
    /// The version to encode.
    public var schemaVersion: Int

    /// Creates a conversation without messages, for fakes and previews.
    public init(
        id: String, kind: Kind, participants: [String], version: Int64 = 0, groupName: String? = nil,
        owner: String? = nil, viewer: String? = nil, createdAt: Date = Date()
    ) {
        (self.id, self.version, self.kind, self.participants) = (id, version, kind, participants)
        members = participants.map { Member(user: $0) }
        (self.groupName, self.owner, self.viewer, self.createdAt) = (groupName, owner, viewer, createdAt)
        (firstSequence, lastSequence, unreadCount) = (1, 0, 0)
        (hasUnreadPriority, priorityCount, isMuted, isArchived) = (false, 0, false, false)
        schemaVersion = Self.currentSchemaVersion
    }

    /// Whether it is a group.
    public var isGroup: Bool { kind == .group }
    /// The id of the newest message.
    public var lastMessageId: String? { lastMessage?.id }
    /// The sender of the newest message.
    public var lastMessageSenderId: String? { lastMessage?.senderId }
    /// When the newest message was stored.
    public var lastMessageTimestamp: Date? { lastMessage?.timestamp }
    /// The date by which the list is sorted, newest first.
    public var listDate: Date { lastMessageTimestamp ?? createdAt }

    /// Whether it is muted at a time, because a mute may end by itself.
    public func isMuted(at date: Date) -> Bool { isMuted && mutedUntil.map { $0 > date } ?? true }

    /// The member with this user id; `nil` for other users.
    public func member(_ user: String) -> Member? { members.first { $0.user == user } }

    /// The number of messages that a member has not read. For the ``viewer`` it equals ``unreadCount``. For other
    /// members it is an estimate that may be too high: a member has read all messages before their own last one, but
    /// of all messages only the newest is known here. `nil` for users who are not members or do not share what they
    /// have read.
    public func unreadCount(for user: String) -> Int? {
        guard let member = member(user) else { return nil }
        if user == viewer { return unreadCount }
        return member.read.map { lastMessageSenderId == user ? 0 : Int(max(0, lastSequence - $0)) }
    }

    /// ``unreadCount(for:)`` of all members for whom it is known.
    public var unreadCounts: [String: Int] {
        var counts: [String: Int] = [:]
        for member in members { counts[member.user] = unreadCount(for: member.user) }
        return counts
    }

    /// Whether another member can be added.
    public func canAddParticipant(limit: Int = maximumParticipants) -> Bool { isGroup && participants.count < limit }

    /// The displayed name: the group's name or its other members' names; in a direct conversation the other user's
    /// name.
    ///
    /// - Parameters:
    ///   - user: the user who views it.
    ///   - names: the names by user; missing ones are shown as `Unknown`.
    public func displayName(for user: String, names: [String: String]) -> String {
        if let groupName, !groupName.isEmpty { return groupName }
        let others = participants.filter { $0 != user }.map { names[$0] ?? Sentence.unknownName.text() }
        return others.isEmpty ? Sentence.unknownName.text() : others.joined(separator: ", ")
    }
}

extension ChatConversation {
    private enum CodingKeys: String, CodingKey {
        case id, version, kind, participants, members, groupName, owner, metadata, createdAt, firstSequence,
            lastSequence
        case lastMessage, viewer, unreadCount, hasUnreadPriority, priorityCount, isMuted, mutedUntil, isArchived,
            archivedAt, isRequest
        case schemaVersion
    }

    /// Decodes this version. Missing optional values are those of a new conversation.
    ///
    /// - Throws: `DecodingError`, also for a later schema version, which this version of the library would misread.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let found = try values.decodeIfPresent(Int.self, forKey: .schemaVersion) ?? 1
        guard found <= Self.currentSchemaVersion else {
            throw DecodingError.dataCorruptedError(
                forKey: .schemaVersion, in: values, debugDescription: "a conversation of schema version \(found)")
        }
        self.init(
            id: try values.decode(String.self, forKey: .id), kind: try values.decode(Kind.self, forKey: .kind),
            participants: try values.decode([String].self, forKey: .participants),
            version: try values.decodeIfPresent(Int64.self, forKey: .version) ?? 0,
            groupName: try values.decodeIfPresent(String.self, forKey: .groupName),
            owner: try values.decodeIfPresent(String.self, forKey: .owner),
            viewer: try values.decodeIfPresent(String.self, forKey: .viewer),
            createdAt: try values.decode(Date.self, forKey: .createdAt))
        members = try values.decodeIfPresent([Member].self, forKey: .members) ?? members
        metadata = try values.decodeIfPresent([String: JSONValue].self, forKey: .metadata)
        firstSequence = try values.decodeIfPresent(Int64.self, forKey: .firstSequence) ?? 1
        lastSequence = try values.decodeIfPresent(Int64.self, forKey: .lastSequence) ?? 0
        lastMessage = try values.decodeIfPresent(Message.self, forKey: .lastMessage)
        unreadCount = try values.decodeIfPresent(Int.self, forKey: .unreadCount) ?? 0
        hasUnreadPriority = try values.decodeIfPresent(Bool.self, forKey: .hasUnreadPriority) ?? false
        priorityCount = try values.decodeIfPresent(Int.self, forKey: .priorityCount) ?? 0
        isMuted = try values.decodeIfPresent(Bool.self, forKey: .isMuted) ?? false
        mutedUntil = try values.decodeIfPresent(Date.self, forKey: .mutedUntil)
        isArchived = try values.decodeIfPresent(Bool.self, forKey: .isArchived) ?? false
        archivedAt = try values.decodeIfPresent(Date.self, forKey: .archivedAt)
        isRequest = try values.decodeIfPresent(Bool.self, forKey: .isRequest) ?? false
    }
}
