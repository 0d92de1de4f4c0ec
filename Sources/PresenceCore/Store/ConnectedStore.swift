import EventLoops
import Redis

/// A store of real connections, whichever form its Redis has.
package protocol ConnectedStore: Store {
    /// Told of every break and recovery.
    var onChange: (StoreChange) -> Void { get set }
    /// An event of a partition; the bytes are lent for the call.
    var onEvent: (_ payload: UnsafeRawBufferPointer, _ partition: Int) -> Void { get set }
    var onCanary: (_ payload: UnsafeRawBufferPointer) -> Void { get set }
    /// What comes by the pattern of `overhear`; the bytes are lent for the call.
    var onOverheard: (_ payload: UnsafeRawBufferPointer) -> Void { get set }
    var onRoundTrip: (_ microseconds: Int64) -> Void { get set }
    /// Fewer replicas than changes need (`redis.wait`) have answered, or are there.
    var onFewReplicas: (_ count: Int) -> Void { get set }
    /// Channels that were added, and are not left.
    var followed: Int { get }
    /// Of channels, those that Redis has still to confirm that they are followed, or left.
    var followsPending: Int { get }
    /// How many bytes the commands have that wait for their answers.
    var pendingBytes: Int { get }
    func connect()
    func close()
}

extension RedisLocation {
    /// The way to it for a shard. `mostBytes`: so many bytes of commands may wait before requests are refused.
    func store(
        loop: EventLoop, options: RedisOptions, partitions: Partitions, scripts: [Script], replicas: Int,
        mostBytes: Int, name: String
    ) -> any ConnectedStore {
        switch self {
        case .server(let endpoint):
            RedisStore(
                loop: loop, place: .fixed(endpoint), options: options, partitions: partitions, scripts: scripts,
                replicas: replicas,
                mostBytes: mostBytes, name: name)
        case .sentinels(let sentinels):
            RedisStore(
                loop: loop,
                place: .master(
                    RedisMaster(loop: loop, sentinels: sentinels, name: name + ":sentinel", options: options)),
                options: options, partitions: partitions, scripts: scripts, replicas: replicas, mostBytes: mostBytes,
                name: name)
        case .cluster(let seeds):
            ClusterStore(
                loop: loop, seeds: seeds, options: options, partitions: partitions, scripts: scripts,
                replicas: replicas,
                mostBytes: mostBytes, name: name)
        }
    }
}

extension ServerConfiguration.Limits {
    /// One shard's part of `redisBytes`.
    func redisBytes(of shards: Int) -> Int { redisBytes == 0 ? .max : max(1, redisBytes / max(1, shards)) }
}
