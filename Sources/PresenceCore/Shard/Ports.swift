import PresenceProtocol
import Redis
import WebSockets
import Workers

/// What the shard's logic asks of its sockets: one of its three ports. The real ones are libwebsockets', the
/// simulator's are lists.
package protocol Sockets: AnyObject {
    /// Sends bytes that are framed already, one or many messages at once.
    func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult
    func ping(_ socket: SocketID)
    /// How long ago the host last received anything from the peer, in ms; `nil` if that cannot be told.
    func silence(of socket: SocketID) -> Milliseconds?
    /// Whether the peer has closed the connection, as far as the host knows: what came before that may still wait to be read.
    func hasHungUp(_ socket: SocketID) -> Bool
    func close(_ socket: SocketID, code: CloseCode, reason: String)
    func pauseReading(_ socket: SocketID)
    func resumeReading(_ socket: SocketID)
    /// Room for so many bytes of messages that wait, in the process' budget (`limits.inboxBytes`) and the address' share of it; false
    /// if there is none.
    func reserveInbox(_ bytes: Int, of address: AddressBlock) -> Bool
    func releaseInbox(_ bytes: Int, of address: AddressBlock)
    /// The client has said `connect`: from now on its messages may have `limits.maxMessageBytes`.
    func allowLongMessages(_ socket: SocketID)
}

/// What the shard's logic asks of Redis: another port. Commands of one lane with the same keys run in the order in
/// which they were given; their replies come in that order too, each exactly once, never from within the call. (Only the
/// reply of an acknowledged change may come later than those of commands that were given after it: it waits for replicas.)
package protocol Store: AnyObject {
    /// Runs a script; the store puts the time before `arguments` (0 for Redis' own clock, in tests the invented one).
    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply)
    /// Runs a plain command.
    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply)
    /// Drops the subscription, if there is one, and subscribes anew: to every partition's events and to `canary`.
    func subscribe(canary: String)
    /// Subscribes to a further channel, whose messages come like those of the partition. Each time that Redis has confirmed it
    /// is a `StoreChange.followed`; after a break that comes before `subscribed`. Not with a cluster.
    func follow(_ channel: String, partition: Int)
    /// Leaves such a channel: one that is confirmed, or Redis has been told of none yet (`isSubscribing`).
    func leave(_ channel: String)
    /// There is a connection for events, and Redis has been told of what is followed, or is told when it has confirmed the rest.
    var isSubscribing: Bool { get }
    /// Hears also what is published elsewhere, on all channels that a pattern fits; `nil`: no more. Not with a cluster.
    func overhear(_ pattern: String?)
    /// Commands that have not been answered.
    var pending: Int { get }
    /// So much waits for Redis that requests which can be repeated are refused.
    var isFull: Bool { get }
    /// Drops both command connections and makes them anew: they have been silent.
    func reconnect()
    /// Whether all scripts go by the same clock. In a cluster each goes by that of its slot's master.
    var hasOneClock: Bool { get }
}

/// What the shard's logic asks of threads: the third port. In the server they are the process' (`WorkerPools`); in the
/// simulator jobs take simulated time.
package protocol WorkerThreads: AnyObject {
    /// Runs `work` on a thread of the pool, and hands its result to `then`, on the shard's thread and never within the call.
    ///
    /// - Parameter inKeptPlace: Whether a place was kept for it, which it takes.
    func submit<Value: Sendable>(
        to plan: WorkerPlan, inKeptPlace: Bool, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) -> any CancellableWork
    /// Keeps a place in the pool's queue, or frees one for which no job came: `KeptPlace`.
    func keepPlace(in plan: WorkerPlan) throws(WorkRefusal)
    func freePlace(in plan: WorkerPlan)
    /// Of which each address has a share.
    func places(of plan: WorkerPlan) -> AddressBudget
}

package typealias StoreReply = (Result<RedisValue, RedisFailure>) -> Void

/// The lease has a connection of its own, where bulk work cannot delay it.
package enum StoreLane: CaseIterable {
    case commands, lease
}

/// What becomes of the way to Redis, told to the shard's logic.
package enum StoreChange: Equatable {
    case up(StoreLane)
    case down(StoreLane, reason: String)
    case subscribed
    case unsubscribed(reason: String)
    /// From now on no event of this channel is missed.
    case followed(channel: String)
    /// The events of these partitions come from another server now (their slots have moved). None is known to be lost,
    /// but of those that came in between none can be sure.
    case rerouted(partitions: Set<Int>)
}
