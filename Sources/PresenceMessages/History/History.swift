import Foundation
import PresenceKit

/// The conversations on this device with the newest messages of each that was observed, as records of the storage:
///
/// ```text
///   list                 the list of conversations was complete
///   c/CONVERSATION       a conversation, as the list has it
///   t/CONVERSATION       which messages are known without a gap, and the last change that they have
///   m/NUMBER/CONVERSATION    a message
/// ```
///
/// The last record of a change is its range. So an interrupted write leaves messages outside of the range, which are
/// ignored, and never a range with a gap.
struct History {
    /// Changes of the stored records.
    struct Changes {
        /// The new value of each key, or `nil`, in the order in which they are written.
        var records: [(key: String, value: Data?)] = []
        /// Whether former values may not stay on the disk: they were deleted, or have expired.
        var erases = false

        static func + (one: Changes, other: Changes) -> Changes {
            Changes(records: one.records + other.records, erases: one.erases || other.erases)
        }
    }

    /// The most messages of a conversation.
    let messages: Int
    /// The most conversations.
    let conversations: Int
    /// The most bytes of all records.
    static let bytes = 16 << 20

    /// Whether the list of conversations was complete when it was stored.
    private(set) var isListComplete = false
    private var kept: [String: Kept] = [:]
    private var size = 0
    /// Counts the changes, by which the least recently changed conversation is found.
    private var counter = 0

    private struct Kept {
        var conversation: Data?
        /// Whether its newest message is stored as deleted.
        var hasDeleted = false
        var range: Talk.KnownRange?
        var messages: [Int64: Data] = [:]
        /// The version of each stored message.
        var versions: [Int64: Int64] = [:]
        /// The number of the last change.
        var changed = 0
    }

    init(messages: Int, conversations: Int) {
        self.messages = max(messages, 0)
        self.conversations = max(conversations, 0)
    }

    // MARK: Reading

    /// Takes over the records of an earlier process, within today's limits.
    ///
    /// - Returns: the conversations that can be read, and the records that the limits do not allow any more.
    mutating func recall(_ records: [String: Data]) -> (conversations: [ChatConversation], changes: Changes) {
        isListComplete = records[Self.listKey] != nil
        let decoder = JSONDecoder()
        var found: [ChatConversation] = []
        for (key, value) in records {
            let parts = key.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let rest = String(parts[1])
            switch parts[0] {
            case "c":
                guard let conversation = try? decoder.decode(ChatConversation.self, from: value) else { continue }
                kept[rest, default: Kept()].conversation = value
                kept[rest]!.hasDeleted = conversation.lastMessage?.isDeleted == true
                found.append(conversation)
            case "t":
                guard let range = try? decoder.decode(Talk.KnownRange.self, from: value) else { continue }
                kept[rest, default: Kept()].range = range
            case "m":
                let place = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
                guard place.count == 2, let number = Int64(place[0]) else { continue }
                kept[String(place[1]), default: Kept()].messages[number] = value
            default: continue
            }
            size += key.utf8.count + value.count
        }
        // The order of their last messages stands in for that of the changes.
        for conversation in found.sorted(by: { ($0.listDate, $0.id) < ($1.listDate, $1.id) }) {
            counter += 1
            kept[conversation.id]!.changed = counter
        }
        let changes = enforceLimits()
        return (found.filter { kept[$0.id] != nil }, changes)
    }

    private mutating func enforceLimits() -> Changes {
        var changes = Changes()
        for (id, stored) in kept {
            guard conversations > 0 else {
                changes = changes + remove(id)
                continue
            }
            guard let range = stored.range, range.through - range.oldest >= Int64(messages) else { continue }
            shorten(id, to: range.through - Int64(messages) + 1, in: &changes)
        }
        if conversations == 0, isListComplete {
            isListComplete = false
            changes.records.append((Self.listKey, nil))
        }
        return changes + evict()
    }

    /// The stored messages of a conversation; `nil` if there are none.
    mutating func messages(of conversation: String) -> (range: Talk.KnownRange, messages: [Message])? {
        guard let stored = kept[conversation], let range = stored.range, range.oldest <= range.through else {
            return nil
        }
        let decoder = JSONDecoder()
        var found: [Message] = []
        for number in range.oldest...range.through {
            // With a gap it is not a range, and the server is asked for all.
            guard let value = stored.messages[number],
                let message = try? decoder.decode(Message.self, from: value), message.sequence == number
            else { return nil }
            found.append(message)
        }
        for message in found { kept[conversation]!.versions[message.sequence!] = message.version }
        return (range, found)
    }

    // MARK: Changing

    /// The list of conversations is complete.
    mutating func completeList() -> Changes {
        guard !isListComplete, conversations > 0 else { return Changes() }
        isListComplete = true
        return Changes(records: [(Self.listKey, Data("1".utf8))])
    }

    /// A conversation of the list has changed.
    mutating func update(_ conversation: ChatConversation) -> Changes {
        guard conversations > 0, let value = try? JSONEncoder().encode(conversation) else { return Changes() }
        let id = conversation.id
        touch(id)
        let hasDeleted = conversation.lastMessage?.isDeleted == true
        var changes = Changes(erases: hasDeleted && !kept[id]!.hasDeleted)
        store("c/\(id)", value, insteadOf: kept[id]!.conversation, in: &changes)
        (kept[id]!.conversation, kept[id]!.hasDeleted) = (value, hasDeleted)
        // The server has removed messages, perhaps of a conversation that is never opened again.
        if let range = kept[id]!.range, range.oldest < conversation.firstSequence {
            kept[id]!.range!.first = conversation.firstSequence
            shorten(id, to: conversation.firstSequence, in: &changes)
        }
        return changes + evict(except: id)
    }

    /// The messages of an observed conversation have changed.
    mutating func update(_ talk: Talk) -> Changes {
        guard conversations > 0, messages > 0, let (range, newest) = talk.kept(most: messages) else { return Changes() }
        let id = talk.id
        let changed = newest.filter { kept[id]?.versions[$0.sequence!] != $0.version }
        guard !changed.isEmpty || kept[id]?.range != range else { return Changes() }
        touch(id)
        var changes = Changes()
        let encoder = JSONEncoder()
        for message in changed {
            guard let value = try? encoder.encode(message) else { continue }
            let number = message.sequence!
            let former = kept[id]!.messages[number]
            if message.isDeleted, former != nil { changes.erases = true }
            store(Self.key(of: number, in: id), value, insteadOf: former, in: &changes)
            kept[id]!.messages[number] = value
            kept[id]!.versions[number] = message.version
        }
        set(range, of: id, in: &changes)
        return changes + evict(except: id)
    }

    /// The user is no longer in a conversation.
    mutating func remove(_ conversation: String) -> Changes {
        guard kept[conversation] != nil else { return Changes() }
        var changes = Changes(erases: true)
        set(nil, of: conversation, in: &changes)
        if let value = kept[conversation]!.conversation {
            store("c/\(conversation)", nil, insteadOf: value, in: &changes)
        }
        kept[conversation] = nil
        return changes
    }

    private mutating func touch(_ conversation: String) {
        counter += 1
        kept[conversation, default: Kept()].changed = counter
    }

    /// Removes the messages before a number.
    private mutating func shorten(_ conversation: String, to oldest: Int64, in changes: inout Changes) {
        guard var range = kept[conversation]?.range else { return }
        range.oldest = max(range.oldest, oldest)
        set(range.oldest <= range.through ? range : nil, of: conversation, in: &changes)
    }

    /// Stores which messages are known, and removes all others.
    private mutating func set(_ range: Talk.KnownRange?, of conversation: String, in changes: inout Changes) {
        let encoder = JSONEncoder()
        let former = kept[conversation]!.range.flatMap { try? encoder.encode($0) }
        kept[conversation]!.range = range
        if range != nil || former != nil {
            store("t/\(conversation)", range.flatMap { try? encoder.encode($0) }, insteadOf: former, in: &changes)
        }
        for (number, value) in kept[conversation]!.messages {
            if let range, range.oldest...range.through ~= number { continue }
            if number < range?.first ?? .max { changes.erases = true }
            store(Self.key(of: number, in: conversation), nil, insteadOf: value, in: &changes)
            kept[conversation]!.messages[number] = nil
            kept[conversation]!.versions[number] = nil
        }
    }

    private mutating func store(_ key: String, _ value: Data?, insteadOf former: Data?, in changes: inout Changes) {
        size += (value.map { key.utf8.count + $0.count } ?? 0) - (former.map { key.utf8.count + $0.count } ?? 0)
        changes.records.append((key, value))
    }

    /// Removes the least recently changed conversations while there are too many.
    private mutating func evict(except newest: String? = nil) -> Changes {
        var evicted = Changes()
        while kept.count > conversations || size > Self.bytes, kept.count > 1 {
            let oldest = kept.filter { $0.key != newest }.min { $0.value.changed < $1.value.changed }!.key
            evicted.records += remove(oldest).records
        }
        return evicted
    }

    private static let listKey = "list"
    private static func key(of number: Int64, in conversation: String) -> String { "m/\(number)/\(conversation)" }
}
