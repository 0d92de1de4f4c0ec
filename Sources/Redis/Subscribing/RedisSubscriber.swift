import EventLoops

/// A connection that listens on a fixed list of channels, and listens again by itself after a break.
///
/// What is published while it is not `subscribed` is lost: its owner has to read the truth afterwards.
/// Redis tells nothing about a silent subscription; an owner that notices one calls `reconnect(reason:)`.
///
/// Confined to the loop's thread. Its owner closes it before letting go of it.
public final class RedisSubscriber {
    public enum State: Hashable, Sendable {
        case connecting
        /// Redis has confirmed every channel.
        case subscribed
        /// The reason names the server, never the password. The next attempt comes by itself.
        case lost(reason: String)
        case closed
    }

    /// The server that it is connected to, or was, or tries; `nil` while that is not known.
    public var endpoint: RedisEndpoint? { dialler.endpoint }
    public let channels: [String]
    public private(set) var state = State.lost(reason: "not connected yet")

    /// Called after each change of `state`, but not for `close()`.
    public var onState: (State) -> Void = { _ in }

    /// Called with each message: the channel as its index in `channels`, the payload lent for the call only. May come
    /// before `subscribed`, for a channel that is confirmed already. May call anything here, `close()` included.
    public var onMessage: (_ channel: Int, _ payload: UnsafeRawBufferPointer) -> Void = { _, _ in }

    private let name: String
    private let dialler: Dialler
    private let reader: PushReader
    /// Steps whose answers are still to come.
    private var greetings: ArraySlice<Greeting> = []
    private var unconfirmed: Set<Int> = []

    /// - Parameters:
    ///   - name: what `CLIENT LIST` shows on the server: printable ASCII without spaces.
    ///   - channels: at least one, none twice.
    public convenience init(
        loop: EventLoop, endpoint: RedisEndpoint, name: String, channels: [String],
        options: RedisOptions = RedisOptions()
    ) {
        self.init(loop: loop, destination: .fixed(endpoint), name: name, channels: channels, options: options)
    }

    /// One that is always subscribed at the master, whichever that is.
    public convenience init(
        loop: EventLoop, master: RedisMaster, name: String, channels: [String],
        options: RedisOptions = RedisOptions()
    ) {
        self.init(loop: loop, destination: .sought(master), name: name, channels: channels, options: options)
    }

    init(loop: EventLoop, destination: Destination, name: String, channels: [String], options: RedisOptions) {
        precondition(!channels.isEmpty, "no channels to subscribe to")
        precondition(name.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "not a client's name: \"\(name)\"")
        self.name = name
        self.channels = channels
        reader = PushReader(channels: ChannelTable(channels))
        dialler = Dialler(to: destination, on: loop, options: options)
        dialler.delegate = self
        reader.onMessage = { [unowned self] in onMessage($0, $1) }
        reader.onAnswer = { [unowned self] in hear($0) }
        reader.onSubscribed = { [unowned self] in confirm($0) }
    }

    deinit {
        dialler.stop()
    }

    /// Connects, and again after every break, until `close()`. The first attempt is made in the next turn.
    public func connect() {
        if state != .closed { dialler.start() }
    }

    /// Ends it for good: no callback comes any more.
    public func close() {
        state = .closed
        dialler.stop()
    }

    /// Drops the connection and makes a new one, as after a break. Nothing if there is none.
    public func reconnect(reason: String) {
        drop(reason)
    }

    private func drop(_ reason: String, isRefusal: Bool = false) {
        if dialler.drop(isRefusal: isRefusal) { diallerDidEnd(reason: reason) }
    }

    private func hear(_ answer: RedisValue) {
        let greeting = greetings.popFirst()
        if let objection = greeting?.objection(to: answer) {
            drop(objection.reason, isRefusal: objection.isRefusal)
        } else if greeting == nil, case .error(let line) = answer {
            // To SUBSCRIBE itself, or a last word.
            let objection = Greeting.Objection(line: line)
            drop(objection.reason, isRefusal: objection.isRefusal)
        }
    }

    private func confirm(_ channel: Int) {
        guard unconfirmed.remove(channel) != nil, unconfirmed.isEmpty, state == .connecting else { return }
        dialler.succeeded()
        state = .subscribed
        onState(.subscribed)
    }
}

extension RedisSubscriber: DiallerDelegate {
    func diallerDidStart() {
        state = .connecting
        onState(.connecting)
    }

    func diallerDidOpen(_ link: Link) {
        guard let endpoint else { return }
        reader.attach(to: link)
        greetings = endpoint.introductions(name: name)[...]
        unconfirmed = Set(channels.indices)
        let subscribe = [.string("SUBSCRIBE")] + channels.map(RedisArgument.string)
        link.append { output in
            for greeting in greetings { output.append(command: greeting.arguments) }
            output.append(command: subscribe)
        }
    }

    func diallerDidRead(_ link: Link) {
        while link.parse() != nil {}
    }

    func diallerDidEnd(reason: String) {
        state = .lost(reason: "\(dialler.place): \(reason)")
        onState(state)
    }
}
