extension BlockingRedis {
    /// Returns the master of each slot, from the first node of the cluster that answers.
    ///
    /// - Parameter timeout: milliseconds for connecting to each node, and for its answer.
    /// - Throws: `.unreachable` if no node returns a map, or if a slot has no master.
    public static func slots(
        of cluster: RedisClusterSeeds, timeout: Int64 = 1_000
    ) throws(RedisFailure) -> SlotMap {
        var trouble = RedisFailure.unreachable(reason: "\(cluster): no node returned a map of slots")
        for seed in cluster.seeds {
            guard case .tcp(let host, let port) = seed.address else { continue }
            do throws(RedisFailure) {
                let answer = try BlockingRedis(seed, timeout: timeout).command(["CLUSTER", "SLOTS"])
                guard let map = SlotMap(answer, from: ClusterNode(host: host, port: port)) else { continue }
                guard map.isComplete else {
                    throw .unreachable(reason: "\(cluster): some slots have no master")
                }
                return map
            } catch {
                trouble = error
            }
        }
        throw trouble
    }
}
