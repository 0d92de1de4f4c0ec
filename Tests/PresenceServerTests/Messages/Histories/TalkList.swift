import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A user's conversations as one of their clients received them, by lists and events.
struct TalkList {
    struct Entry: Equatable {
        var version: Int64
        var isRemoved = false
        /// Each member's `read`, if shown, and `delivered`.
        var members: [String: Marks] = [:]
        var first: Int64 = 0
        var last: Int64 = 0
        /// The newest message.
        var message: Message?
        var unread: Int64 = 0
        var urgent: Int64 = 0
        var name: String?
        var owner: String?
        var isMuted = false
        var isArchived = false
    }

    struct Marks: Equatable {
        var read: Int64?
        var delivered: Int64
    }

    struct Message: Equatable {
        let id: String
        let version: Int64
    }

    private(set) var entries: [String: Entry] = [:]
    /// The highest `read` received, by conversation and member.
    private var reads: [String: [String: Int64]] = [:]
    private var deliveries: [String: [String: Int64]] = [:]

    /// The conversations of the list, with their versions.
    var known: [String: Int64] { entries.filter { !$0.value.isRemoved }.mapValues(\.version) }

    /// Applies a received conversation; the higher version wins. Returns a fault, if any.
    mutating func apply(_ conversation: [String: Any]) -> String? {
        guard let id = conversation["id"] as? String else { return "a conversation has no id" }
        let told = Entry(conversation)
        if let held = entries[id] {
            guard told.version >= held.version else { return nil }
            if told.version == held.version, told != held {
                return "version \(told.version) of \(id) is told as \(held) and as \(told)"
            }
        }
        entries[id] = told
        for (user, marks) in told.members.sorted(by: { $0.key < $1.key }) {
            if marks.delivered < deliveries[id]?[user] ?? 0 {
                return "the mark of what came to \(user) in \(id) went back to \(marks.delivered)"
            }
            deliveries[id, default: [:]][user] = marks.delivered
            guard let read = marks.read else { continue }
            if read < reads[id]?[user] ?? 0 { return "the mark of \(user) in \(id) went back to \(read)" }
            reads[id, default: [:]][user] = read
        }
        return nil
    }
}

extension TalkList.Entry {
    fileprivate init(_ conversation: [String: Any]) {
        func number(_ value: Any?) -> Int64 { (value as? NSNumber)?.int64Value ?? 0 }
        version = number(conversation["version"])
        isRemoved = conversation["removed"] as? Bool ?? false
        for member in conversation["members"] as? [[String: Any]] ?? [] {
            members[member["user"] as? String ?? ""] = TalkList.Marks(
                read: member["read"].map { number($0) }, delivered: number(member["delivered"]))
        }
        first = number(conversation["first"])
        last = number(conversation["last"])
        if let told = conversation["lastMessage"] as? [String: Any] {
            message = TalkList.Message(id: told["id"] as? String ?? "", version: number(told["version"]))
        }
        unread = number(conversation["unread"])
        urgent = number(conversation["priorityCount"])
        name = conversation["name"] as? String
        owner = conversation["owner"] as? String
        isMuted = conversation["muted"] as? Bool ?? false
        isArchived = conversation["archived"] as? Bool ?? false
    }

    /// The entry that a member should have, derived from the store's record.
    init(_ record: ConversationRecord, for own: ConversationRecord.Member, at now: Timestamp) {
        version = record.version(for: own.user, at: now)
        for member in record.members {
            let isHidden = member.user != own.user && (own.hidesReceipts || member.hidesReceipts)
            members[member.user.string] = TalkList.Marks(
                read: isHidden ? nil : member.user == own.user ? member.read : member.shown,
                delivered: record.delivered(member, for: own.user))
        }
        (first, last) = (record.first, record.last)
        message = record.message.map { TalkList.Message(id: $0.id, version: $0.version) }
        let seen = max(own.read, own.own)
        // (`compareUnread` counts the messages themselves.)
        unread = record.unread(by: own)
        urgent = Int64(record.priority.count { $0 > seen })
        name = record.name.map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
        owner = record.isDirect ? nil : record.owner?.string
        isMuted = record.isMuted(own, at: now)
        isArchived = own.archived > 0
    }
}
