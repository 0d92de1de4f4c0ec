import PresenceCore
import Redis

/// Where the doctor looks: at one server, or at the masters of a cluster with the partitions spread over them.
struct DoctorStore {
    /// All that hold something.
    let servers: [DoctorRedis]
    /// By slot, where there are many: an index into `servers`.
    private let owners: [Int]

    /// Connects to all of them; past sentinels, to the master that they name now.
    init(_ location: RedisLocation) throws(RedisFailure) {
        switch location {
        case .server(let endpoint):
            let server = try DoctorRedis(endpoint, name: "Redis")
            if let master = try server.master() {
                throw .unreachable(
                    reason: "\(endpoint): this is a replica of \(master): name that one, or its sentinels")
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

    /// The one that holds a key, and with it all of the key's partition.
    subscript(key: String) -> DoctorRedis {
        servers.count == 1 ? servers[0] : servers[owners[HashSlot.of(key)]]
    }
}
