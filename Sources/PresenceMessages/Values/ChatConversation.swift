import Foundation

/// A conversation with its messages, as the own user sees it. (PresenceKit's `Conversation` is where people see each
/// other typing; they have the same id.)
public struct ChatConversation: Codable, Hashable, Sendable, Identifiable {
    /// Of how many people it is, and who decides who is in it.
    public enum Kind: String, Codable, Hashable, Sendable {
        /// Of two people, who have one.
        case direct
        /// Of 2 to 10 people, with an owner.
        case group
    }

    /// One who is in it, and how far they are.
    public struct Member: Codable, Hashable, Sendable, Identifiable {
        /// The same as ``user``.
        public var id: String { user }
        /// Who it is.
        public let user: String
        /// The newest message that they have read; `nil` if they or the own user do not show that.
        public var read: Int64?
        /// The newest message that has arrived at one of their devices.
        public var delivered: Int64

        /// Makes a member; by default one who has got and read nothing.
        public init(user: String, read: Int64? = 0, delivered: Int64 = 0) {
            self.user = user
            self.read = read
            self.delivered = delivered
        }
    }

    /// How many people a group has at most, unless the server is set otherwise.
    public static let maximumParticipants = 10
    /// The form of what is encoded; a later one is refused.
    public static let currentSchemaVersion = 1

    /// The same as PresenceKit's `Conversation` has for it.
    public let id: String
    /// Grows with each change of it.
    public var version: Int64
    /// Whether it is of two people or a group.
    public var kind: Kind
    /// The ids of all who are in it, the own user's included.
    public var participants: [String]
    /// The same people, and how far each is.
    public var members: [Member]
    /// What a group is called; `nil` without a name.
    public var groupName: String?
    /// Who made a group, or was left it; `nil` in a direct conversation.
    public var owner: String?
    /// What the app noted when it was made.
    public var metadata: [String: JSONValue]?
    /// When it was made, by the server's clock.
    public var createdAt: Date
    /// The number of the oldest message that is still kept.
    public var firstSequence: Int64
    /// The number of the newest message; 0 if there is none.
    public var lastSequence: Int64
    /// The newest message, as it is now; `nil` if there is none.
    public var lastMessage: Message?
    /// The own user, whose view of it this is; `nil` if that is not known.
    public var viewer: String?
    /// How many messages the own user has not read.
    public var unreadCount: Int
    /// Whether any unread message of others has priority.
    public var hasUnreadPriority: Bool
    /// How many unread messages of others have priority.
    public var priorityCount: Int
    /// Whether the user muted it. That may be over by now: ``isMuted(at:)``.
    public var isMuted: Bool
    /// `nil` if it is muted until that is taken back.
    public var mutedUntil: Date?
    /// Whether the user put it away.
    public var isArchived: Bool
    /// When the user put it away; `nil` unless ``isArchived``.
    public var archivedAt: Date?
    /// The form that is encoded.
    public var schemaVersion: Int

    /// Makes a conversation without messages, as a fake or a preview needs it.
    public init(
        id: String, kind: Kind, participants: [String], version: Int64 = 0, groupName: String? = nil,
        owner: String? = nil, viewer: String? = nil, createdAt: Date = Date()
    ) {
        self.id = id
        self.version = version
        self.kind = kind
        self.participants = participants
        members = participants.map { Member(user: $0) }
        self.groupName = groupName
        self.owner = owner
        self.viewer = viewer
        self.createdAt = createdAt
        (firstSequence, lastSequence, unreadCount) = (1, 0, 0)
        (hasUnreadPriority, priorityCount, isMuted, isArchived) = (false, 0, false, false)
        schemaVersion = Self.currentSchemaVersion
    }

    /// Whether it is a group.
    public var isGroup: Bool { kind == .group }
    /// The id of the newest message.
    public var lastMessageId: String? { lastMessage?.id }
    /// Who wrote the newest message.
    public var lastMessageSenderId: String? { lastMessage?.senderId }
    /// When the newest message was stored.
    public var lastMessageTimestamp: Date? { lastMessage?.timestamp }
    /// Where it stands in the list: the newest first.
    public var listDate: Date { lastMessageTimestamp ?? createdAt }

    /// Whether it is muted at a time: muting may end by itself.
    public func isMuted(at date: Date) -> Bool { isMuted && mutedUntil.map { $0 > date } ?? true }

    /// One who is in it; `nil` for anybody else.
    public func member(_ user: String) -> Member? { members.first { $0.user == user } }

    /// How many messages a member has not read, as far as they show that. That of the ``viewer`` is ``unreadCount``, exactly.
    /// Another member's may be less: what they wrote counts as read up to there, and of that only the newest message is known
    /// here. `nil` for users who are not in it, or do not show how far they have read.
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

    /// Whether there is room for one more.
    public func canAddParticipant(limit: Int = maximumParticipants) -> Bool { isGroup && participants.count < limit }

    /// What to call it: a group's name or its other members' names; else the other one's name.
    ///
    /// - Parameters:
    ///   - user: who looks at it.
    ///   - names: by user; who is missing is `Unknown`.
    public func displayName(for user: String, names: [String: String]) -> String {
        if let groupName, !groupName.isEmpty { return groupName }
        let others = participants.filter { $0 != user }.map { names[$0] ?? "Unknown" }
        return others.isEmpty ? "Unknown" : others.joined(separator: ", ")
    }
}

extension ChatConversation {
    private enum CodingKeys: String, CodingKey {
        case id, version, kind, participants, members, groupName, owner, metadata, createdAt, firstSequence,
            lastSequence
        case lastMessage, viewer, unreadCount, hasUnreadPriority, priorityCount, isMuted, mutedUntil, isArchived,
            archivedAt
        case schemaVersion
    }

    /// Reads this version; what may be missing has the value that a new conversation has.
    ///
    /// - Throws: `DecodingError`, also for data of a later schema version, which this one would misread.
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
    }
}
