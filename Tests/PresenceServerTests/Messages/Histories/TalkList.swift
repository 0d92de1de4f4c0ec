import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The conversations of somebody as one of their clients was told of them, by lists and by events.
struct TalkList {
    struct Entry: Equatable {
        var version: Int64
        var isRemoved = false
        /// Of each member: what they have read, if it is shown, and what has come to their devices.
        var members: [String: Marks] = [:]
        var first: Int64 = 0
        var last: Int64 = 0
        /// Of the newest message.
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
    /// By conversation and member: the most that they were said to have read.
    private var reads: [String: [String: Int64]] = [:]
    private var deliveries: [String: [String: Int64]] = [:]

    /// The conversations that it has, with their versions.
    var known: [String: Int64] { entries.filter { !$0.value.isRemoved }.mapValues(\.version) }

    /// A conversation is told: the larger version counts. Returns what is wrong with it.
    mutating func take(_ conversation: [String: Any]) -> String? {
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

    /// What a member is to be told of a conversation as the store has it.
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
        // (What counting would say is compared by itself: `compareUnread`.)
        unread = record.unread(by: own)
        urgent = Int64(record.priority.count { $0 > seen })
        name = record.name.map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
        owner = record.isDirect ? nil : record.owner?.string
        isMuted = record.isMuted(own, at: now)
        isArchived = own.archived > 0
    }
}
