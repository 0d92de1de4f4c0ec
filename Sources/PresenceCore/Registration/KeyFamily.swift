import PresenceProtocol

/// Keys of a feature in Redis, one for each id: `{p017}:NAME:ID`, in the partition of the id. Used by servers and the doctor.
package struct KeyFamily: Sendable, Hashable {
    /// Between the partition and the id; unique among all features.
    package let name: String
    /// Whether a key is needed only while the servers that wrote it run.
    package let isPassing: Bool
    /// As returned by Redis' `TYPE`.
    package let type: String
    /// Whether each key has an expiry.
    package var expires = false
    /// Whether all the values of a hash are whole numbers.
    package var holdsNumbers = false
    /// Whether a key's id does not determine its partition: it is a hash, or the number of a hash of small values.
    package var isPlacedApart = false
    /// Whether there is one key for each partition, without an id: `{p017}:NAME`.
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
    package func key(_ family: KeyFamily, _ id: Identifier) -> String {
        String(joining: name, ":", family.name, ":", id.string)
    }
}
