import EventLoops

/// A connection that subscribes to a list of channels, and subscribes again after a break. Tens of thousands of
/// channels can be added to the fixed ones and removed again (`follow`, `leave`).
///
/// Messages published while it is not `subscribed` are lost: the owner must read the current state afterwards. Redis
/// does not report a subscription that stays silent; an owner that detects one calls `reconnect(reason:)`.
///
/// Confined to the loop's thread. Its owner closes it before releasing it.
public final class RedisSubscriber {
    public enum State: Hashable, Sendable {
        case connecting
        /// Redis has confirmed all channels that existed when the connection was made.
        case subscribed
        /// The reason names the server, never the password. The next attempt follows automatically.
        case lost(reason: String)
        case closed
    }

    /// The present, last or tried server; `nil` while that is not known.
    public var endpoint: RedisEndpoint? { dialler.endpoint }
    public let channels: [String]
    public private(set) var state = State.lost(reason: "not connected yet")

    /// Called after each change of `state`, but not for `close()`.
    public var onState: (State) -> Void = { _ in }

    /// Called with each message: the channel as its index in `channels`, the payload valid during the call only. May be
    /// called before `subscribed`, for a channel that is already confirmed. May call any function here, `close()`
    /// included.
    public var onMessage: (_ channel: Int, _ payload: UnsafeRawBufferPointer) -> Void = { _, _ in }

    /// Called with the name of each followed channel when Redis has confirmed it, and again after a break. From then on
    /// no message published on the channel is missed, until the connection breaks.
    public var onFollowed: (_ channel: String) -> Void = { _ in }

    /// Called with each message on a channel that matches `pattern`, even if the channel is also subscribed by name.
    public var onPatternMessage: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }

    /// An additional pattern, as in Redis' `PSUBSCRIBE`; `nil`: none.
    public var pattern: String? {
        didSet {
            guard pattern != oldValue, let link, areFixedSent else { return }
            if let oldValue { send(["PUNSUBSCRIBE", .string(oldValue)], on: link) }
            if let pattern { send(["PSUBSCRIBE", .string(pattern)], on: link) }
        }
    }

    private let name: String
    private let dialler: Dialler
    private let reader: PushReader
    private let patience: Int64
    /// Greeting steps without an answer.
    private var greetings: ArraySlice<Greeting> = []
    private var unconfirmed: Set<Int> = []
    private var link: Link?
    private var areFixedSent = false
    /// The connection is ready for subscriptions, and each of them will be confirmed.
    public var isSubscribing: Bool { areFixedSent }
    private var dynamic = FollowedChannels()
    /// Fires when Redis owes confirmations, and none has arrived for `patience`.
    private lazy var silence = LoopTimer(loop) { [unowned self] in
        drop("no channel was confirmed within \(patience) ms")
    }
    private lazy var flushing = LoopTimer(loop) { [unowned self] in pump() }
    private let loop: EventLoop

    /// - Parameters:
    ///   - name: what `CLIENT LIST` shows on the server: printable ASCII without spaces.
    ///   - channels: at least one, none twice.
    public convenience init(
        loop: EventLoop, endpoint: RedisEndpoint, name: String, channels: [String],
        options: RedisOptions = RedisOptions()
    ) {
        self.init(loop: loop, destination: .fixed(endpoint), name: name, channels: channels, options: options)
    }

    /// A subscriber that always leads to the current master.
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
        self.loop = loop
        patience = options.commandTimeout
        reader = PushReader(channels: ChannelTable(channels))
        dialler = Dialler(to: destination, on: loop, options: options)
        dialler.delegate = self
        reader.onMessage = { [unowned self] in onMessage($0, $1) }
        reader.onAnswer = { [unowned self] in receive($0) }
        reader.onSubscribed = { [unowned self] in confirm($0) }
        reader.onUnsubscribed = { [unowned self] in recordConfirmation(.left) }
        reader.onPatternMessage = { [unowned self] in onPatternMessage($0) }
    }

    deinit {
        dialler.stop()
    }

    /// Connects, and again after every break, until `close()`. The first attempt is made in the next turn.
    public func connect() {
        if state != .closed { dialler.start() }
    }

    /// Ends it permanently: no callback is called any more.
    public func close() {
        state = .closed
        forgetLink()
        dialler.stop()
    }

    /// Drops the connection and makes a new one, as after a break. Does nothing without a connection.
    public func reconnect(reason: String) {
        drop(reason)
    }

    private func drop(_ reason: String, isRefusal: Bool = false) {
        if dialler.drop(isRefusal: isRefusal) { diallerDidEnd(reason: reason) }
    }

    private func receive(_ answer: RedisValue) {
        let greeting = greetings.popFirst()
        if let objection = greeting?.objection(to: answer) {
            drop(objection.reason, isRefusal: objection.isRefusal)
        } else if greeting == nil, case .error(let line) = answer {
            // An error to SUBSCRIBE itself, or a final message.
            let objection = Greeting.Objection(line: line)
            drop(objection.reason, isRefusal: objection.isRefusal)
        }
    }

    // MARK: Followed channels

    /// The number of channels that are followed now.
    public var followed: Int { dynamic.count }
    /// The number of subscriptions and unsubscriptions that Redis has not confirmed, sent or not.
    public var underWay: Int { dynamic.underWay }

    /// Also subscribes to this channel, from the next turn on; `onFollowed` reports the confirmation. A channel that is
    /// followed already stays followed.
    ///
    /// - Parameter index: Passed to `onMessage` with its messages. Several channels may share one.
    public func follow(_ channel: String, index: Int) {
        let name = Array(channel.utf8)
        guard reader.channels.insert(name, index: index) else { return }
        dynamic.follow(name, isConnected: areFixedSent)
        flush()
    }

    /// Unsubscribes from a followed channel.
    ///
    /// - Precondition: The present connection has confirmed the channel (`onFollowed`), or `isSubscribing` is false.
    ///   Otherwise, if the channel were followed again immediately, two confirmations would be pending, and the first
    ///   could be taken for the second.
    public func leave(_ channel: String) {
        let name = Array(channel.utf8)
        guard let place = name.withUnsafeBytes({ reader.channels.place(of: $0) }) else { return }
        precondition(!reader.channels[place].isFixed, "\(channel) is not followed")
        reader.channels.remove(name)
        dynamic.leave(name, isConnected: areFixedSent)
        flush()
    }

    /// All changes of a turn are sent together.
    private func flush() {
        if areFixedSent, !flushing.isSet { flushing.set(after: 0) }
    }

    private func pump() {
        guard areFixedSent, let link, unconfirmed.isEmpty else { return }
        while let command = dynamic.next() { send(command, on: link) }
        if dynamic.underWay == 0 { silence.cancel() } else if !silence.isSet { silence.set(after: patience) }
    }

    private func send(_ command: [RedisArgument], on link: Link) {
        link.append { $0.append(command: command) }
    }

    private func confirm(_ channel: ChannelTable.Channel) {
        guard unconfirmed.isEmpty else {
            unconfirmed.remove(channel.index)
            guard unconfirmed.isEmpty, state == .connecting else { return }
            // The connection works; the followed channels may take longer than an attempt may.
            dialler.succeeded()
            pump()
            return subscribedIfAll()
        }
        onFollowed(String(decoding: channel.name, as: UTF8.self))
        recordConfirmation(.followed)
    }

    private func recordConfirmation(_ what: FollowedChannels.Confirmation) {
        dynamic.confirm(what)
        if silence.isSet { silence.set(after: patience) }
        pump()
        subscribedIfAll()
    }

    private func subscribedIfAll() {
        guard state == .connecting, unconfirmed.isEmpty, dynamic.isRestored else { return }
        state = .subscribed
        onState(.subscribed)
    }

    private func forgetLink() {
        link = nil
        areFixedSent = false
        silence.cancel()
        flushing.cancel()
    }
}

extension RedisSubscriber: DiallerDelegate {
    func diallerDidStart() {
        forgetLink()
        state = .connecting
        onState(.connecting)
    }

    func diallerDidOpen(_ link: Link) {
        guard let endpoint else { return }
        reader.attach(to: link)
        greetings = endpoint.introductions(name: name)[...]
        unconfirmed = Set(channels.indices)
        dynamic.restart()
        self.link = link
        areFixedSent = true
        let subscribe = [.string("SUBSCRIBE")] + channels.map(RedisArgument.string)
        link.append { output in
            for greeting in greetings { output.append(command: greeting.arguments) }
            output.append(command: subscribe)
            if let pattern { output.append(command: ["PSUBSCRIBE", .string(pattern)]) }
        }
    }

    func diallerDidRead(_ link: Link) {
        while link.parse() != nil {}
    }

    func diallerDidEnd(reason: String) {
        forgetLink()
        state = .lost(reason: "\(dialler.place): \(reason)")
        onState(state)
    }
}
