extension BlockingRedis {
    /// Which master serves which slot, as the first node of the cluster says that answers.
    ///
    /// - Parameter timeout: milliseconds for each node's connecting and for its answer.
    /// - Throws: `.unreachable` if none of them says so, or not every slot is served.
    public static func slots(
        of cluster: RedisClusterSeeds, timeout: Int64 = 1_000
    ) throws(RedisFailure) -> SlotMap {
        var trouble = RedisFailure.unreachable(reason: "\(cluster): no node tells of any slot")
        for seed in cluster.seeds {
            guard case .tcp(let host, let port) = seed.address else { continue }
            do throws(RedisFailure) {
                let answer = try BlockingRedis(seed, timeout: timeout).command(["CLUSTER", "SLOTS"])
                guard let map = SlotMap(answer, from: ClusterNode(host: host, port: port)) else { continue }
                guard map.isComplete else {
                    throw .unreachable(reason: "\(cluster): some slots are served by no master")
                }
                return map
            } catch {
                trouble = error
            }
        }
        throw trouble
    }
}
