import PresenceProtocol
import Redis
import WebSockets
import Workers

/// The port from the shard's logic to its sockets, one of three. A server has the sockets of
/// WebSockets; the simulator has lists.
package protocol Sockets: AnyObject {
    /// Sends framed bytes, of one or several messages.
    func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult
    func ping(_ socket: SocketID)
    /// How long ago the host last received anything from the peer, in ms; `nil` if unknown.
    func silence(of socket: SocketID) -> Milliseconds?
    /// Whether the peer has closed the connection, as far as the host knows: earlier data may still wait to be read.
    func hasHungUp(_ socket: SocketID) -> Bool
    func close(_ socket: SocketID, code: CloseCode, reason: String)
    func pauseReading(_ socket: SocketID)
    func resumeReading(_ socket: SocketID)
    /// Reserves bytes for waiting messages, in the process' budget (`limits.inboxBytes`) and the address' share of it;
    /// false if there is no room.
    func reserveInbox(_ bytes: Int, of address: AddressBlock) -> Bool
    func releaseInbox(_ bytes: Int, of address: AddressBlock)
    /// The client has sent `connect`: from now on its messages may have `limits.maxMessageBytes`.
    func allowLongMessages(_ socket: SocketID)
}

/// The port to Redis. Commands of one lane with the same keys run in the order in which they were given. Their replies
/// arrive in that order too, each exactly once, and never during the call. (Only the reply of an acknowledged change
/// may arrive later than the replies of subsequent commands: it waits for replicas.)
package protocol Store: AnyObject {
    /// Runs a script; the store puts the time before `arguments` (0 for Redis' own clock, in tests an invented time).
    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply)
    /// Runs a plain command.
    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply)
    /// Drops an existing subscription and subscribes again: to every partition's events and to `canary`.
    func subscribe(canary: String)
    /// Subscribes to a further channel, whose messages arrive like the partition's. Each confirmation by Redis is a
    /// `StoreChange.followed`; after a break it comes before `subscribed`. Not for a cluster.
    func follow(_ channel: String, partition: Int)
    /// Leaves such a channel: one that is confirmed, or that has not been sent to Redis yet (`isSubscribing`).
    func leave(_ channel: String)
    /// Whether there is a connection for events. Redis has received the followed channels on it, or will receive them
    /// once it has confirmed the other subscriptions.
    var isSubscribing: Bool { get }
    /// Also receives the messages of all channels that match a pattern; `nil` stops this. Not for a cluster.
    func overhear(_ pattern: String?)
    /// The number of commands without a reply.
    var pending: Int { get }
    /// Whether so much waits for Redis that repeatable requests are rejected.
    var isFull: Bool { get }
    /// Replaces both command connections, which have been silent.
    func reconnect()
    /// Whether all scripts use the same clock. In a cluster each script uses the clock of its slot's master.
    var hasOneClock: Bool { get }
}

/// The port to worker threads. In the server they are the process' (`WorkerPools`); in the simulator jobs take
/// simulated time.
package protocol WorkerThreads: AnyObject {
    /// Runs `work` on a thread of the pool, and passes its result to `then`, on the shard's thread and never during the call.
    ///
    /// - Parameter inKeptPlace: Whether the job takes a place that was kept for it.
    func submit<Value: Sendable>(
        to plan: WorkerPlan, inKeptPlace: Bool, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) -> any CancellableWork
    /// Reserves a place in the pool's queue, or releases one that was not used: `KeptPlace`.
    func reservePlace(in plan: WorkerPlan) throws(WorkRefusal)
    func releasePlace(in plan: WorkerPlan)
    /// The pool's places, of which each address has a share.
    func places(of plan: WorkerPlan) -> AddressBudget
}

package typealias StoreReply = (Result<RedisValue, RedisFailure>) -> Void

/// The lease has a connection of its own, so that bulk work cannot delay it.
package enum StoreLane: CaseIterable {
    case commands, lease
}

/// A change of the connections to Redis, reported to the shard's logic.
package enum StoreChange: Equatable {
    case up(StoreLane)
    case down(StoreLane, reason: String)
    case subscribed
    case unsubscribed(reason: String)
    /// From now on no event of this channel is missed.
    case followed(channel: String)
    /// The events of these partitions now come from another server (their slots have moved). Events in between may have
    /// been lost.
    case rerouted(partitions: Set<Int>)
}
