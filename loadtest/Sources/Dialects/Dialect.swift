/// How a kind of server is spoken to: ours, or a peer's with the same clients.
///
///     open → greeting → (connected) → subscription → (subscribed) → in → change → (acknowledged)
///
/// What stands in brackets is waited for where the server says it.
protocol Dialect {
    /// What the upgrade asks for, if anything.
    var subprotocol: String? { get }
    /// The server answers a greeting with `.connected`.
    var answersGreetings: Bool { get }
    /// A subscription may follow the greeting at once: the server takes it when it has answered that.
    var subscribesAhead: Bool { get }
    /// The server answers each message of a subscription with `.subscribed`.
    var answersSubscriptions: Bool { get }
    /// The server answers a change with `.acknowledged`.
    var answersChanges: Bool { get }
    /// A watcher who was slow is sent the newest of everybody in the end.
    var keepsNewest: Bool { get }

    /// The first messages on a connection.
    func greeting(of user: String) -> [[UInt8]]
    /// The messages with which someone begins to watch these people; each message may name so many.
    func subscription(to people: [String], batch: Int) -> [[UInt8]]
    /// The message with which `user` makes a change.
    func message(_ change: NumberedChange, by user: String) -> [UInt8]
    /// What a message means. A server that puts several events into one message has several meanings.
    func read(_ message: UnsafeRawBufferPointer) -> [Incoming]
}

/// What a message from a server means to a measurement.
enum Incoming: Equatable {
    case change(NumberedChange)
    /// Who greeted is known now, and may watch so many people, so many in a request.
    case connected(subscriptions: Int, batch: Int)
    case subscribed
    /// The number of the change, where the server tells it; else it is the oldest that was not answered.
    case acknowledged(number: Int?)
    /// The server wants this sent.
    case asked([UInt8])
    case refused(String)
}
