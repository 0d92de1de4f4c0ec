import PresenceProtocol

/// Where a user's or a conversation's state lives in Redis.
///
/// Ids hash into a fixed number of partitions. A partition's name is a Redis hash tag, so all its keys and its event
/// channel live in one cluster slot and one script can change them together.
package struct Partitions: Sendable {
    /// The number of the layout of all keys. Layout 1 had accounts in keys of their own, and what of a profile is in its body as
    /// fields too.
    package static let layout = 2
    /// Written into Redis at the first start; another number would look for everyone in the wrong place.
    package let count: Int
    /// What the names of all keys and channels begin with.
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

    /// FNV-1a over the id's bytes: cheap, the same in every process and for ever.
    package func index(of id: Identifier) -> Int { Int(Self.hash(id.string) % UInt64(count)) }

    fileprivate static func hash(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return hash ^ (hash >> 32)
    }

    /// As configured, in a database of the Redis.
    package init(_ configuration: ServerConfiguration, database: Int) {
        self.init(
            count: configuration.partitions,
            in: KeySpace(
                prefix: configuration.redis.prefix, database: database, hasInterests: configuration.redis.interests))
    }

    /// What an installation's `presence:format` says: the layout, the number of partitions, and whether it has interests.
    package var format: String { "\(Self.layout) \(count)" + (space.hasInterests ? " interests" : "") }

    /// As `presence:format` says; `nil` if that is of another layout.
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

/// The names of one partition's keys; README.md beside this file has the contents of each.
package struct PartitionKeys {
    /// What each of them begins with.
    package let name: String
    /// The channel of the partition's events; with interests, of those that not only watchers need.
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

    /// With interests: the channel of what watchers of a user or conversation need.
    package func events(of id: Identifier) -> String { events + id.string }
    /// With interests: the channel that tells that something was offered.
    package var offered: String { events[...events.lastIndex(of: "}")!] + ":offers" }

    /// The intents of this partition that are not carried out: `KIND SUBJECT` each.
    package var unfinished: String { name + ":unfinished" }
    package func user(_ id: UserID) -> String { key(":user:", id.string) }
    package func sessions(_ id: UserID) -> String { key(":sessions:", id.string) }
    /// The devices that a user has signed in on.
    package func grants(_ id: UserID) -> String { key(":grants:", id.string) }
    package func contacts(_ id: UserID) -> String { key(":contacts:", id.string) }
    package func blocks(_ id: UserID) -> String { key(":blocks:", id.string) }
    package func conversation(_ id: ConversationID) -> String { key(Self.conversations, id.string) }
    /// What the keys of all conversations begin with.
    package var conversations: String { name + Self.conversations }
    private static let conversations = ":conversation:"
    /// The hash that holds a small value, as one of many: a key of its own would cost Redis twice what the value does.
    /// With a million values of a family there are some eight in each, and up to 128 are searched faster than a key is found.
    package func bucket(_ family: KeyFamily, of text: String) -> String {
        // The lower bits have chosen the partition.
        "\(name):\(family.name):\((Partitions.hash(text) >> 14) % Self.buckets)"
    }
    private static let buckets: UInt64 = 1_024
    package func fenced(_ incarnation: String) -> String { key(":fenced:", incarnation) }
    package func users(ofShard incarnation: String) -> String { key(":shard:", incarnation, ":users") }

    /// Put together in room of its length: each `+` would take its own.
    private func key(_ kind: String, _ id: String, _ end: String = "") -> String {
        var key = ""
        key.reserveCapacity(name.utf8.count + kind.utf8.count + id.utf8.count + end.utf8.count)
        key += name
        key += kind
        key += id
        key += end
        return key
    }
}
