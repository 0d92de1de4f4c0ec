import PresenceProtocol

/// The location of a user's or conversation's state in Redis.
///
/// Ids hash into a fixed number of partitions. A partition's name is a Redis hash tag, so all its keys and its event
/// channel are in one cluster slot, and one script can change them together.
package struct Partitions: Sendable {
    /// The number of the layout of all keys. Layout 1 had accounts in keys of their own, and duplicated a profile's
    /// body in fields.
    package static let layout = 2
    /// Stored in Redis at the first start; with another number, ids would hash into the wrong partitions.
    package let count: Int
    /// The beginning of all keys and channels.
    package let space: KeySpace
    private let all: [PartitionKeys]

    package init(count: Int, in space: KeySpace = KeySpace()) {
        precondition(count > 0)
        self.count = count
        self.space = space
        all = (0..<count).map { index in
            let digits = String(index)
            return PartitionKeys(
                tag: "{p" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits + "}", space: space)
        }
    }

    /// FNV-1a over the id's bytes: cheap, and the same in every process and forever.
    package func index(of id: Identifier) -> Int { Int(Self.hash(id.string) % UInt64(count)) }

    fileprivate static func hash(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return hash ^ (hash >> 32)
    }

    /// As configured, in a database of Redis.
    package init(_ configuration: ServerConfiguration, database: Int) {
        self.init(
            count: configuration.partitions,
            in: KeySpace(
                prefix: configuration.redis.prefix, database: database, hasInterests: configuration.redis.interests))
    }

    /// The value of `presence:format`: the layout, the number of partitions, and whether there are interests.
    package var format: String { "\(Self.layout) \(count)" + (space.hasInterests ? " interests" : "") }

    /// Parses `presence:format`; `nil` for another layout.
    package init?(format: String, in space: KeySpace) {
        let words = format.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2 || words.count == 3 && words[2] == "interests", words[0] == String(Self.layout),
            let count = Int(words[1]), (1...16_384).contains(count)
        else { return nil }
        self.init(count: count, in: space.with(interests: words.count == 3))
    }

    package func keys(_ index: Int) -> PartitionKeys { all[index] }
    package func keys(of id: Identifier) -> PartitionKeys { keys(index(of: id)) }

    var eventChannels: [String] { (0..<count).map { keys($0).events } }
}

/// The names of one partition's keys; README.md in this folder describes their contents. One object for each partition.
package final class PartitionKeys: Sendable {
    /// The beginning of each key.
    package let name: String
    /// The channel of the partition's events; with interests, of the events that are not only for watchers.
    package let events: String
    package let shards: String
    package let floor: String

    /// - Parameter tag: The partition's name as a hash tag: `{p017}`.
    package init(tag: String, space: KeySpace) {
        name = space.keys + tag
        events = space.channels + tag + (space.hasInterests ? ":events:" : ":events")
        shards = name + ":shards"
        floor = name + ":floor"
    }

    /// With interests: the channel of events for watchers of a user or conversation.
    package func events(of id: Identifier) -> String { events + id.string }
    /// With interests: the channel that announces offers.
    package var offered: String { events[...events.lastIndex(of: "}")!] + ":offers" }

    /// This partition's unfinished intents: `KIND SUBJECT` each.
    package var unfinished: String { name + ":unfinished" }
    package func user(_ id: UserID) -> String { String(joining: name, ":user:", id.string) }
    package func sessions(_ id: UserID) -> String { String(joining: name, ":sessions:", id.string) }
    /// The devices on which a user is signed in.
    package func grants(_ id: UserID) -> String { String(joining: name, ":grants:", id.string) }
    package func contacts(_ id: UserID) -> String { String(joining: name, ":contacts:", id.string) }
    /// The requests between the user and others.
    package func asked(_ id: UserID) -> String { String(joining: name, ":asked:", id.string) }
    package func blocks(_ id: UserID) -> String { String(joining: name, ":blocks:", id.string) }
    package func conversation(_ id: ConversationID) -> String { String(joining: name, Self.conversations, id.string) }
    /// The beginning of the keys of all conversations.
    package var conversations: String { name + Self.conversations }
    private static let conversations = ":conversation:"
    /// A hash of many small values, since a key for each value would cost Redis twice the memory. With a million values
    /// of a family there are some eight in each hash. Redis searches up to 128 faster than it finds a key.
    package func bucket(_ family: KeyFamily, of text: String) -> String {
        // The lower bits select the partition.
        String(joining: name, ":", family.name, ":", String((Partitions.hash(text) >> 14) % Self.buckets))
    }
    private static let buckets: UInt64 = 1_024
    package func fenced(_ incarnation: String) -> String { String(joining: name, ":fenced:", incarnation) }
    package func users(ofShard incarnation: String) -> String {
        String(joining: name, ":shard:", incarnation, ":users")
    }
}

extension String {
    /// The parts one after the other, copied once: for texts as short as a key, appending takes twice as many instructions.
    @inline(__always)
    init(joining a: String, _ b: String, _ c: String, _ d: String = "", _ e: String = "") {
        let count = a.utf8.count + b.utf8.count + c.utf8.count + d.utf8.count + e.utf8.count
        self.init(unsafeUninitializedCapacity: count) { text in
            var end = 0
            @inline(__always)
            func add(_ part: String) {
                var part = part
                part.withUTF8 { bytes in
                    guard let start = bytes.baseAddress else { return }
                    (text.baseAddress! + end).update(from: start, count: bytes.count)
                    end += bytes.count
                }
            }
            add(a)
            add(b)
            add(c)
            add(d)
            add(e)
            return end
        }
    }
}
