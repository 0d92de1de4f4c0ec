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

    /// Takes over the records of an earlier process.
    ///
    /// - Returns: the conversations that can be read.
    mutating func recall(_ records: [String: Data]) -> [ChatConversation] {
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
        return found
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
        let key = "c/\(conversation.id)"
        var changes = Changes(records: [(key, value)])
        change(conversation.id) { stored in
            let former = stored.conversation.map { key.utf8.count + $0.count } ?? 0
            let hasDeleted = conversation.lastMessage?.isDeleted == true
            changes.erases = hasDeleted && !stored.hasDeleted
            (stored.conversation, stored.hasDeleted) = (value, hasDeleted)
            return key.utf8.count + value.count - former
        }
        return changes + evict(except: conversation.id)
    }

    /// The messages of an observed conversation have changed.
    mutating func update(_ talk: Talk) -> Changes {
        guard conversations > 0, messages > 0, let (range, newest) = talk.kept(most: messages) else { return Changes() }
        var changes = Changes()
        change(talk.id) { stored in
            guard stored.range != range || newest.contains(where: { stored.versions[$0.sequence!] != $0.version })
            else { return 0 }
            var growth = 0
            func store(_ key: String, _ value: Data?, insteadOf former: Data?) {
                growth +=
                    (value.map { key.utf8.count + $0.count } ?? 0) - (former.map { key.utf8.count + $0.count } ?? 0)
                changes.records.append((key, value))
            }
            let encoder = JSONEncoder()
            for message in newest where stored.versions[message.sequence!] != message.version {
                guard let value = try? encoder.encode(message) else { continue }
                let number = message.sequence!
                if message.isDeleted, stored.messages[number] != nil { changes.erases = true }
                store(Self.key(of: number, in: talk.id), value, insteadOf: stored.messages[number])
                (stored.messages[number], stored.versions[number]) = (value, message.version)
            }
            let former = stored.range.flatMap { try? encoder.encode($0) }
            stored.range = range
            store("t/\(talk.id)", try? encoder.encode(range), insteadOf: former)
            for number in stored.messages.keys where number < range.oldest || number > range.through {
                if number < range.first { changes.erases = true }
                store(Self.key(of: number, in: talk.id), nil, insteadOf: stored.messages[number])
                (stored.messages[number], stored.versions[number]) = (nil, nil)
            }
            return growth
        }
        return changes.records.isEmpty ? changes : changes + evict(except: talk.id)
    }

    /// The user is no longer in a conversation.
    mutating func remove(_ conversation: String) -> Changes {
        guard let stored = kept.removeValue(forKey: conversation) else { return Changes() }
        var changes = Changes(
            records: stored.messages.keys.map { (Self.key(of: $0, in: conversation), nil) }, erases: true)
        size -= stored.messages.reduce(0) { $0 + Self.key(of: $1.key, in: conversation).utf8.count + $1.value.count }
        if let value = stored.conversation {
            size -= "c/\(conversation)".utf8.count + value.count
            changes.records.append(("c/\(conversation)", nil))
        }
        if let value = stored.range.flatMap({ try? JSONEncoder().encode($0) }) {
            size -= "t/\(conversation)".utf8.count + value.count
            changes.records.append(("t/\(conversation)", nil))
        }
        return changes
    }

    /// - Parameter change: returns by how many bytes the conversation's records grew.
    private mutating func change(_ conversation: String, _ change: (inout Kept) -> Int) {
        counter += 1
        kept[conversation, default: Kept()].changed = counter
        size += change(&kept[conversation]!)
    }

    /// Removes the least recently changed conversations while there are too many.
    private mutating func evict(except newest: String) -> Changes {
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
