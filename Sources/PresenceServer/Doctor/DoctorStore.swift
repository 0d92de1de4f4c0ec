import PresenceCore
import Redis

/// The Redis that the doctor checks: one server, or the masters of a cluster over which the partitions are spread.
struct DoctorStore {
    /// All servers with data.
    let servers: [DoctorRedis]
    /// In a cluster: for each slot, an index into `servers`.
    private let owners: [Int]

    /// Connects to all servers; with sentinels, to the current master.
    init(_ location: RedisLocation) throws(RedisFailure) {
        switch location {
        case .server(let endpoint):
            let server = try DoctorRedis(endpoint, name: "Redis")
            if let master = try server.master() {
                throw .unreachable(
                    reason: "\(endpoint): this is a replica of \(master): give that address, or its sentinels")
            }
            servers = [server]
            owners = []
        case .sentinels(let sentinels):
            servers = [try DoctorRedis(try BlockingRedis.master(of: sentinels), name: "Redis")]
            owners = []
        case .cluster(let seeds):
            let map = try BlockingRedis.slots(of: seeds)
            var servers: [DoctorRedis] = []
            for master in map.masters {
                servers.append(try DoctorRedis(seeds.endpoint(of: master), name: master.description))
            }
            self.servers = servers
            owners = (0..<HashSlot.count).map { slot in map.masters.firstIndex { $0 == map[slot] } ?? 0 }
        }
    }

    /// The server with this key, and so with the key's whole partition.
    subscript(key: String) -> DoctorRedis {
        servers.count == 1 ? servers[0] : servers[owners[HashSlot.of(key)]]
    }
}
