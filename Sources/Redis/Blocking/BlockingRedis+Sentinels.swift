extension BlockingRedis {
    /// Returns the master by the sentinels' newest configuration.
    ///
    /// - Parameter timeout: milliseconds for connecting to each sentinel, and for each of its answers.
    /// - Throws: `.unreachable` if no sentinel names a master.
    public static func master(
        of sentinels: RedisSentinels, timeout: Int64 = 1_000
    ) throws(RedisFailure) -> RedisEndpoint {
        var newest: (epoch: Int64, master: RedisEndpoint)?
        var trouble = RedisFailure.unreachable(reason: sentinels.unknown)
        for sentinel in sentinels.sentinels {
            do throws(RedisFailure) {
                let connection = try BlockingRedis(sentinel, timeout: timeout)
                let name = RedisArgument.string(sentinels.master)
                let epoch = RedisSentinels.epoch(in: try connection.command(["SENTINEL", "MASTER", name]))
                let answer = try connection.command(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name])
                guard let master = sentinels.master(in: answer), epoch > newest?.epoch ?? -1 else { continue }
                newest = (epoch, master)
            } catch {
                trouble = error
            }
        }
        guard let newest else { throw trouble }
        return newest.master
    }
}
