import Foundation

/// A conversation with its messages, as the own user sees it. (PresenceKit's `Conversation` is where people see each
/// other typing; they have the same id.)
public struct ChatConversation: Codable, Hashable, Sendable, Identifiable {
    public enum Kind: String, Codable, Hashable, Sendable {
        /// Of two people, who have one.
        case direct
        case group
    }

    /// One who is in it, and how far they are.
    public struct Member: Codable, Hashable, Sendable, Identifiable {
        public var id: String { user }
        public let user: String
        /// The newest message that they have read; `nil` if they or the own user do not show that.
        public var read: Int64?
        /// The newest message that has arrived at one of their devices.
        public var delivered: Int64

        public init(user: String, read: Int64? = 0, delivered: Int64 = 0) {
            self.user = user
            self.read = read
            self.delivered = delivered
        }
    }

    /// How many people a group has at most, unless the server is set otherwise.
    public static let maximumParticipants = 10
    public static let currentSchemaVersion = 1

    public let id: String
    /// Grows with each change of it.
    public var version: Int64
    public var kind: Kind
    public var participants: [String]
    public var members: [Member]
    public var groupName: String?
    public var owner: String?
    /// What the app noted when it was made.
    public var metadata: [String: JSONValue]?
    public var createdAt: Date
    /// The number of the oldest message that is still kept.
    public var firstSequence: Int64
    /// The number of the newest message; 0 if there is none.
    public var lastSequence: Int64
    public var lastMessage: Message?
    /// How many messages the own user has not read.
    public var unreadCount: Int
    public var hasUnreadPriority: Bool
    public var priorityCount: Int
    public var isMuted: Bool
    /// `nil` if it is muted until that is taken back.
    public var mutedUntil: Date?
    public var isArchived: Bool
    public var archivedAt: Date?
    public var schemaVersion: Int

    public init(
        id: String, kind: Kind, participants: [String], version: Int64 = 0, groupName: String? = nil,
        owner: String? = nil, createdAt: Date = Date()
    ) {
        self.id = id
        self.version = version
        self.kind = kind
        self.participants = participants
        members = participants.map { Member(user: $0) }
        self.groupName = groupName
        self.owner = owner
        self.createdAt = createdAt
        (firstSequence, lastSequence, unreadCount) = (1, 0, 0)
        (hasUnreadPriority, priorityCount, isMuted, isArchived) = (false, 0, false, false)
        schemaVersion = Self.currentSchemaVersion
    }

    public var isGroup: Bool { kind == .group }
    public var lastMessageId: String? { lastMessage?.id }
    public var lastMessageSenderId: String? { lastMessage?.senderId }
    public var lastMessageTimestamp: Date? { lastMessage?.timestamp }
    /// Where it stands in the list: the newest first.
    public var listDate: Date { lastMessageTimestamp ?? createdAt }

    /// Whether it is muted at a time: muting may end by itself.
    public func isMuted(at date: Date) -> Bool { isMuted && mutedUntil.map { $0 > date } ?? true }

    public func member(_ user: String) -> Member? { members.first { $0.user == user } }

    /// How many messages a member has not read, as far as they show that; the own user's is ``unreadCount``.
    public func unreadCount(for user: String) -> Int? {
        member(user)?.read.map { Int(max(0, lastSequence - $0)) }
    }

    /// ``unreadCount(for:)`` of all who show it.
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
