import EventLoops
import Redis

/// A store with real connections, for any form of Redis.
package protocol ConnectedStore: Store {
    /// Called at every break and recovery.
    var onChange: (StoreChange) -> Void { get set }
    /// Called with an event of a partition; the bytes are valid during the call.
    var onEvent: (_ payload: UnsafeRawBufferPointer, _ partition: Int) -> Void { get set }
    var onCanary: (_ payload: UnsafeRawBufferPointer) -> Void { get set }
    /// Called with messages of the pattern of `overhear`; the bytes are valid during the call.
    var onOverheard: (_ payload: UnsafeRawBufferPointer) -> Void { get set }
    var onRoundTrip: (_ microseconds: Int64) -> Void { get set }
    /// Called when too few replicas for changes (`redis.wait`) have replied, or are connected.
    var onFewReplicas: (_ count: Int) -> Void { get set }
    /// Channels that were added and not left.
    var followed: Int { get }
    /// Channels for which Redis has yet to confirm a subscription or its end.
    var followsPending: Int { get }
    /// The bytes of commands without a reply.
    var pendingBytes: Int { get }
    func connect()
    func close()
}

extension RedisLocation {
    /// The connections of a shard to this Redis. `mostBytes`: the bytes of commands that may wait before requests are
    /// rejected.
    func store(
        loop: EventLoop, options: RedisOptions, partitions: Partitions, replicas: Int, mostBytes: Int,
        name: String
    ) -> any ConnectedStore {
        switch self {
        case .server(let endpoint):
            RedisStore(
                loop: loop, place: .fixed(endpoint), options: options, partitions: partitions,
                replicas: replicas, mostBytes: mostBytes, name: name)
        case .sentinels(let sentinels):
            RedisStore(
                loop: loop,
                place: .master(
                    RedisMaster(loop: loop, sentinels: sentinels, name: name + ":sentinel", options: options)),
                options: options, partitions: partitions, replicas: replicas, mostBytes: mostBytes,
                name: name)
        case .cluster(let seeds):
            ClusterStore(
                loop: loop, seeds: seeds, options: options, partitions: partitions, replicas: replicas,
                mostBytes: mostBytes, name: name)
        }
    }
}

extension ServerConfiguration.Limits {
    /// One shard's part of `redisBytes`.
    func redisBytes(of shards: Int) -> Int { redisBytes == 0 ? .max : max(1, redisBytes / max(1, shards)) }
}
