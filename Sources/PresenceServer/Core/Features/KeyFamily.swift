import PresenceProtocol

/// Keys of a feature in Redis, one for each id: `{p017}:NAME:ID`, in the partition of the id. Servers and the doctor both go
/// by it.
struct KeyFamily: Sendable, Hashable {
    /// Between the partition and the id; unique among all features.
    let name: String
    /// Whether it lives no longer than the servers that wrote it: nobody misses it where nobody looks.
    let isPassing: Bool
    /// As Redis' `TYPE` says it.
    let type: String
    /// Whether each has an end.
    var expires = false
    /// Whether all the values of a hash are whole numbers.
    var holdsNumbers = false
}

extension PartitionKeys {
    func key(_ family: KeyFamily, _ id: Identifier) -> String { "\(name):\(family.name):\(id.string)" }
}
