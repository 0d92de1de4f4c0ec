import PresenceProtocol

/// Keys of a feature in Redis, one for each id: `{p017}:NAME:ID`, in the partition of the id. Servers and the doctor both go
/// by it.
package struct KeyFamily: Sendable, Hashable {
    /// Between the partition and the id; unique among all features.
    package let name: String
    /// Whether it lives no longer than the servers that wrote it: nobody misses it where nobody looks.
    package let isPassing: Bool
    /// As Redis' `TYPE` says it.
    package let type: String
    /// Whether each has an end.
    package var expires = false
    /// Whether all the values of a hash are whole numbers.
    package var holdsNumbers = false
    /// Whether its ids do not say in which partition it is: they are hashes, or the numbers of hashes of small values.
    package var isPlacedApart = false
    /// Whether there is one for each partition, with no id: `{p017}:NAME`.
    package var isOfPartition = false

    package init(
        name: String, isPassing: Bool, type: String, expires: Bool = false, holdsNumbers: Bool = false,
        isPlacedApart: Bool = false, isOfPartition: Bool = false
    ) {
        self.name = name
        self.isPassing = isPassing
        self.type = type
        self.expires = expires
        self.holdsNumbers = holdsNumbers
        self.isPlacedApart = isPlacedApart
        self.isOfPartition = isOfPartition
    }
}

extension PartitionKeys {
    package func key(_ family: KeyFamily, _ id: Identifier) -> String { "\(name):\(family.name):\(id.string)" }
}
