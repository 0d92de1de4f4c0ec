/// Separates the keys and channels of one installation from everything else in the same Redis.
///
///     PREFIX:{p017}:user:ID         a key; without a prefix {p017}:user:ID
///     PREFIX:@1:{p017}:events       a channel of an installation in database 1; in database 0 without @0:
///
/// Each database has keys of its own, but Redis delivers a message to the subscribers of all databases, so channels
/// contain the database too. A prefix contains no `@`, `{` or `}`: so no name belongs to two installations, and in a
/// cluster only the hash tag decides the slot.
package struct KeySpace: Sendable, Equatable {
    static let longestPrefix = 64

    /// The beginning of every key.
    package let keys: String
    /// The beginning of every channel.
    package let channels: String
    /// Whether each user and conversation has a channel of its own (`redis.interests`). A partition's channel then ends
    /// in a colon, by which scripts recognise it: `{p017}:events:`, and `{p017}:events:ID`.
    package let hasInterests: Bool

    /// - Parameters:
    ///   - prefix: As configured (`redis.prefix`); may be empty.
    ///   - database: The number of the database with the keys.
    ///   - hasInterests: As configured (`redis.interests`).
    package init(prefix: String = "", database: Int = 0, hasInterests: Bool = false) {
        self.hasInterests = hasInterests
        keys = prefix.isEmpty ? "" : prefix + ":"
        channels = keys + (database == 0 ? "" : "@\(database):")
    }

    private init(keys: String, channels: String, hasInterests: Bool) {
        self.keys = keys
        self.channels = channels
        self.hasInterests = hasInterests
    }

    func with(interests hasInterests: Bool) -> KeySpace {
        KeySpace(keys: keys, channels: channels, hasInterests: hasInterests)
    }

    /// Whether the text is a valid prefix.
    static func isPrefix(_ text: String) -> Bool {
        text.utf8.count <= longestPrefix
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    // Keys without a partition.

    /// All channels for watchers, as a pattern for `PSUBSCRIBE`. A prefix contains no special characters of patterns.
    var subjects: String { channels + "{p*}:events:?*" }

    package var leases: String { keys + "leases" }
    /// Version of the layout and number of partitions.
    package var format: String { keys + "presence:format" }
    /// Random bytes, created once, with which addresses are hashed into partitions: a user id must not reveal whether a
    /// guessed address belongs to that user.
    package var addressKey: String { keys + "presence:addressKey" }
    /// The key of the hash that turns two users into the id of their direct conversation.
    package var pairKey: String { keys + "presence:pairKey" }
}
