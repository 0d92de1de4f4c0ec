/// The protocol of a kind of server: ours, or a peer's, with the same clients.
///
///     open → greeting → (connected) → subscription → (subscribed) → in → change → (acknowledged)
///
/// The run waits for the steps in brackets only if the server confirms them.
protocol Dialect {
    /// The subprotocol to request in the upgrade, if any.
    var subprotocol: String? { get }
    /// Whether the server answers a greeting with `.connected`.
    var answersGreetings: Bool { get }
    /// Whether a subscription may follow the greeting immediately: the server handles it after the greeting.
    var subscribesAhead: Bool { get }
    /// Whether the server answers each message of a subscription with `.subscribed`.
    var answersSubscriptions: Bool { get }
    /// Whether the server answers a change with `.acknowledged`.
    var answersChanges: Bool { get }
    /// Whether a slow watcher finally receives the newest change of everyone.
    var keepsNewest: Bool { get }

    /// The first messages on a connection.
    func greeting(of user: String) -> [[UInt8]]
    /// The messages that subscribe to these people; each message may name `batch` of them.
    func subscription(to people: [String], batch: Int) -> [[UInt8]]
    /// The message with which `user` makes a change.
    func message(_ change: NumberedChange, by user: String) -> [UInt8]
    /// The meanings of a message. A server that puts several events into one message has several.
    func read(_ message: UnsafeRawBufferPointer) -> [Incoming]
}

/// The meaning of a server's message for a measurement.
enum Incoming: Equatable {
    case change(NumberedChange)
    /// The server accepted the greeting. The client may watch this many people, and name this many in a request.
    case connected(subscriptions: Int, batch: Int)
    case subscribed
    /// The number of the change, if the server returns it; otherwise the oldest unanswered change is meant.
    case acknowledged(number: Int?)
    /// The server requests this message.
    case asked([UInt8])
    case refused(String)
}
