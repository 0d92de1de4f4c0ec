/// A node of a cluster, by its address.
public struct ClusterNode: Hashable, Sendable, CustomStringConvertible {
    /// An IPv6 host has no brackets here.
    public let host: String
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    public var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Parses `host:port` of a redirection. Without a host it means the node that sent the redirection.
    init?(redirection text: Substring, from sayer: ClusterNode) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = String(text[..<colon])
        self.init(host: host.isEmpty || host == "?" ? sayer.host : host, port: port)
    }
}

/// The master of each slot, as a node of the cluster reports it.
public struct SlotMap: Hashable, Sendable {
    /// The masters that serve any slot.
    public let masters: [ClusterNode]
    /// The masters and their replicas.
    public let nodes: [ClusterNode]
    /// By slot; an index into `masters`, or -1.
    private let owners: [Int16]

    /// Whether every slot has a master.
    public var isComplete: Bool { !owners.contains(-1) }

    public subscript(slot: Int) -> ClusterNode? {
        owners[slot] < 0 ? nil : masters[Int(owners[slot])]
    }

    /// Reads the answer of `CLUSTER SLOTS`: `[first, last, [host, port, …], replicas …] …`; `nil` if it is malformed or
    /// has no slot.
    init?(_ answer: RedisValue, from sayer: ClusterNode) {
        var masters: [ClusterNode] = []
        var nodes: [ClusterNode] = []
        var owners = [Int16](repeating: -1, count: HashSlot.count)
        for range in answer.array ?? [] {
            guard let parts = range.array, parts.count >= 3, let first = parts[0].int, let last = parts[1].int,
                0 <= first, first <= last, last < HashSlot.count
            else { return nil }
            let places = parts[2...].compactMap { Self.node($0, from: sayer) }
            guard let master = places.first, places.count == parts.count - 2 else { return nil }
            for node in places where !nodes.contains(node) { nodes.append(node) }
            let index = masters.firstIndex(of: master) ?? masters.count
            if index == masters.count { masters.append(master) }
            for slot in Int(first)...Int(last) { owners[slot] = Int16(index) }
        }
        guard !masters.isEmpty else { return nil }
        self.masters = masters
        self.nodes = nodes
        self.owners = owners
    }

    private static func node(_ value: RedisValue, from sayer: ClusterNode) -> ClusterNode? {
        guard let parts = value.array, parts.count >= 2, let port = parts[1].int.flatMap({ UInt16(exactly: $0) }) else {
            return nil
        }
        // A node that does not know its own address sends none.
        let host = parts[0].string ?? ""
        return ClusterNode(host: host.isEmpty || host == "?" ? sayer.host : host, port: port)
    }

    /// Whether a master has left since `before`. A replica that lacks the master's last writes may have replaced it, so
    /// that is assumed. Slots that only moved took all their keys with them.
    public func hasLost(aMasterOf before: SlotMap) -> Bool {
        before.masters.contains { !masters.contains($0) }
    }
}
