import PresenceCore

extension KeyFamily {
    /// The conversations of a partition by when their oldest message was sent; only while messages are kept for a time.
    static let aging = KeyFamily(name: "aging", isPassing: true, type: "zset", isOfPartition: true)
    /// That all conversations of the partition have been looked at for those that `aging` lacks (`AgingWalk`).
    static let agingFound = KeyFamily(name: "aging-found", isPassing: true, type: "string", isOfPartition: true)
}

extension PartitionKeys {
    var aging: String { "\(name):aging" }
    var agingFound: String { "\(name):aging-found" }
}
