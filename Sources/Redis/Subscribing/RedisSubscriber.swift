import EventLoops

/// A connection that listens on a list of channels, and listens again by itself after a break. To the fixed ones that it is
/// made with, others can be added, and left again (`follow`, `leave`): tens of thousands of them.
///
/// What is published while it is not `subscribed` is lost: its owner has to read the truth afterwards.
/// Redis tells nothing about a silent subscription; an owner that notices one calls `reconnect(reason:)`.
///
/// Confined to the loop's thread. Its owner closes it before letting go of it.
public final class RedisSubscriber {
    public enum State: Hashable, Sendable {
        case connecting
        /// Redis has confirmed every channel that was there when the connection was made.
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

    /// Called with the name of each followed channel that Redis has confirmed, after a break anew. From then on nothing that is
    /// published there is missed, until the connection breaks.
    public var onFollowed: (_ channel: String) -> Void = { _ in }

    /// Called with each message on a channel that `pattern` fits, also on one that it is subscribed to by name.
    public var onPatternMessage: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }

    /// What else is heard, as Redis' `PSUBSCRIBE` understands it; `nil`: nothing.
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
    /// Steps whose answers are still to come.
    private var greetings: ArraySlice<Greeting> = []
    private var unconfirmed: Set<Int> = []
    private var link: Link?
    private var areFixedSent = false
    /// There is a connection on which channels are told to Redis, each to be confirmed.
    public var isSubscribing: Bool { areFixedSent }
    private var dynamic = FollowedChannels()
    /// Redis owes us confirmations, and none has come for `patience`.
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
        self.loop = loop
        patience = options.commandTimeout
        reader = PushReader(channels: ChannelTable(channels))
        dialler = Dialler(to: destination, on: loop, options: options)
        dialler.delegate = self
        reader.onMessage = { [unowned self] in onMessage($0, $1) }
        reader.onAnswer = { [unowned self] in hear($0) }
        reader.onSubscribed = { [unowned self] in confirm($0) }
        reader.onUnsubscribed = { [unowned self] in settle(.left) }
        reader.onPatternMessage = { [unowned self] in onPatternMessage($0) }
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
        forgetLink()
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

    // MARK: Followed channels

    /// How many channels were added, and are not left.
    public var followed: Int { dynamic.count }
    /// How many subscriptions, and ends of such, Redis has still to confirm or to be told of.
    public var underWay: Int { dynamic.underWay }

    /// Listens on another channel too, from the next turn on; `onFollowed` tells when. One that is followed already stays so.
    ///
    /// - Parameter index: With it its messages come to `onMessage`. Several may have the same.
    public func follow(_ channel: String, index: Int) {
        let name = Array(channel.utf8)
        guard reader.channels.insert(name, index: index) else { return }
        dynamic.follow(name, isConnected: areFixedSent)
        flush()
    }

    /// Listens on a followed channel no longer.
    ///
    /// - Precondition: It was confirmed (`onFollowed`) by the present connection, or `isSubscribing` is false: a channel that is followed
    ///   again at once has another confirmation to come, and one too many could not be told from it.
    public func leave(_ channel: String) {
        let name = Array(channel.utf8)
        guard let place = name.withUnsafeBytes({ reader.channels.place(of: $0) }) else { return }
        precondition(!reader.channels[place].isFixed, "\(channel) is not followed")
        reader.channels.remove(name)
        dynamic.leave(name, isConnected: areFixedSent)
        flush()
    }

    /// Those of a turn go together.
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
            // The connection works; the followed ones may take longer than an attempt.
            dialler.succeeded()
            pump()
            return subscribedIfAll()
        }
        onFollowed(String(decoding: channel.name, as: UTF8.self))
        settle(.followed)
    }

    private func settle(_ what: FollowedChannels.Confirmation) {
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
