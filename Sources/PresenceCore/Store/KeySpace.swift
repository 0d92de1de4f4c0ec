/// What tells the keys and channels of one installation from everything else in the same Redis.
///
///     PREFIX:{p017}:user:ID         a key; without a prefix {p017}:user:ID
///     PREFIX:@1:{p017}:events       a channel of an installation in database 1; in database 0 without @0:
///
/// Each database has keys of its own, but Redis delivers a message to the subscribers of all databases. So channels name
/// the database too. A prefix holds neither `@`, `{` nor `}`: no name belongs to two installations, and in a cluster the
/// hash tag alone decides the slot.
package struct KeySpace: Sendable, Equatable {
    static let longestPrefix = 64

    /// What every key begins with.
    package let keys: String
    /// What every channel begins with.
    package let channels: String
    /// Whether each user and conversation has a channel of its own (`redis.interests`). A partition's then ends in a colon, by
    /// which the scripts know it: `{p017}:events:`, and `{p017}:events:ID`.
    package let hasInterests: Bool

    /// - Parameters:
    ///   - prefix: As configured (`redis.prefix`); empty: none.
    ///   - database: The number of the database that the keys are in.
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

    /// Whether an installation can be named so.
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

    // The keys that belong to no partition.

    /// Everything that is published for watchers, as Redis' `PSUBSCRIBE` understands it. No prefix has a sign of patterns.
    var subjects: String { channels + "{p*}:events:?*" }

    package var leases: String { keys + "leases" }
    /// Version of the layout and number of partitions.
    package var format: String { keys + "presence:format" }
    /// Random bytes, made once, by which addresses are hashed into partitions: a user id must not tell whether a guessed
    /// address is its user's.
    package var addressKey: String { keys + "presence:addressKey" }
    /// The key of the hash that makes the id of a direct conversation of its two users.
    package var pairKey: String { keys + "presence:pairKey" }
}
