import PresenceCore
import PresenceProtocol

/// Parses the name of a key in Redis: the reverse of `PartitionKeys` and `KeySpace`.
enum KeyName: Equatable {
    case user(UserID, partition: Int)
    case sessions(UserID, partition: Int)
    /// A user's lists.
    case contacts(UserID, partition: Int)
    case blocks(UserID, partition: Int)
    case conversation(ConversationID, partition: Int)
    /// A key of a feature.
    case family(KeyFamily, Identifier, partition: Int)
    /// A key of a feature for the whole partition.
    case partition(KeyFamily, partition: Int)
    case shards(partition: Int)
    case floor(partition: Int)
    /// The pending intents.
    case unfinished(partition: Int)
    /// `{p}:shard:INCARNATION:users`
    case users(incarnation: String, partition: Int)
    /// `{p}:fenced:INCARNATION`
    case fenced(incarnation: String, partition: Int)
    case global
    /// A key that this version does not write, or that belongs to another installation.
    case unknown

    init(_ key: String, in space: KeySpace, _ families: [KeyFamily]) {
        self = Self.read(key, in: space, families) ?? .unknown
    }

    private static func read(_ key: String, in space: KeySpace, _ families: [KeyFamily]) -> KeyName? {
        if key == space.leases || key == space.format || key == space.addressKey || key == space.pairKey {
            return .global
        }
        guard key.hasPrefix(space.keys) else { return nil }
        let key = key.dropFirst(space.keys.count)
        guard key.hasPrefix("{p"), let close = key.firstIndex(of: "}") else { return nil }
        let digits = key[key.index(key.startIndex, offsetBy: 2)..<close]
        guard digits.utf8.count >= 3, let partition = Int(digits), partition >= 0 else { return nil }
        let parts = key[key.index(after: close)...].split(
            separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        // An id may contain colons, so only the first two are separators.
        guard parts.count >= 2, parts[0].isEmpty else { return nil }
        let rest = parts.count > 2 ? String(parts[2]) : nil
        switch (parts[1], rest) {
        case (let name, nil) where families.contains { $0.name == name && $0.isOfPartition }:
            return .partition(families.first { $0.name == name }!, partition: partition)
        case ("shards", nil): return .shards(partition: partition)
        case ("floor", nil): return .floor(partition: partition)
        case ("unfinished", nil): return .unfinished(partition: partition)
        case ("user", let rest?): return Identifier(rest).map { .user($0, partition: partition) }
        case ("sessions", let rest?): return Identifier(rest).map { .sessions($0, partition: partition) }
        case ("contacts", let rest?): return Identifier(rest).map { .contacts($0, partition: partition) }
        case ("blocks", let rest?): return Identifier(rest).map { .blocks($0, partition: partition) }
        case ("conversation", let rest?): return Identifier(rest).map { .conversation($0, partition: partition) }
        case ("fenced", let rest?) where !rest.isEmpty: return .fenced(incarnation: rest, partition: partition)
        case ("shard", let rest?) where rest.hasSuffix(":users") && rest.utf8.count > 6:
            return .users(incarnation: String(rest.dropLast(6)), partition: partition)
        case (let name, let rest?):
            guard let family = families.first(where: { $0.name == name && !$0.isOfPartition }),
                let id = Identifier(rest)
            else { return nil }
            return .family(family, id, partition: partition)
        default: return nil
        }
    }

    /// Whether servers with this number of partitions expect the key in this partition.
    func isInPlace(_ partitions: Partitions) -> Bool {
        switch self {
        case .family(let family, _, let partition) where family.isPlacedApart: partition < partitions.count
        case .user(let id, let partition), .sessions(let id, let partition), .contacts(let id, let partition),
            .blocks(let id, let partition), .conversation(let id, let partition), .family(_, let id, let partition):
            partitions.index(of: id) == partition
        case .shards(let partition), .floor(let partition), .unfinished(let partition), .users(_, let partition),
            .fenced(_, let partition), .partition(_, let partition):
            partition < partitions.count
        case .global, .unknown: true
        }
    }

    /// Whether the key lives no longer than the server that wrote it, so that it can be removed if no server looks for it
    /// there.
    var isPassing: Bool {
        switch self {
        case .sessions, .users, .shards, .fenced: true
        case .family(let family, _, _), .partition(let family, _): family.isPassing
        case .user, .contacts, .blocks, .conversation, .floor, .unfinished, .global, .unknown: false
        }
    }
}
