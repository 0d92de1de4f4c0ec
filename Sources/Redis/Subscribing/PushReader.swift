import CHiredis

/// Reads what Redis pushes to a subscriber straight from hiredis' buffer: nothing is allocated for a message.
///
/// hiredis' reader calls one of our functions for each element as it comes to it:
///
///     *3                 (root)   createArray
///     $7 message         [0]      createString: which kind it is
///     $13 {p017}:events  [1]      createString: which channel, looked up at once, since the buffer may move
///     $152 …             [2]      createString: the payload, lent to `onMessage`
///
/// A message by a pattern has the pattern before its channel.
///
/// Confined to the loop's thread; must outlive the link that reads with it.
final class PushReader {
    /// A message on one of the channels, by its index; the bytes are lent for the call.
    var onMessage: (_ channel: Int, _ payload: UnsafeRawBufferPointer) -> Void = { _, _ in }
    /// A message on a channel that the pattern fits.
    var onPatternMessage: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    /// Redis confirmed the subscription to a channel.
    var onSubscribed: (ChannelTable.Channel) -> Void = { _ in }
    /// Redis confirmed the end of a subscription.
    var onUnsubscribed: () -> Void = {}
    /// Something that is not a push: an answer to one of the greetings, or an error.
    var onAnswer: (RedisValue) -> Void = { _ in }

    private enum Kind { case message, patternMessage, subscribe, unsubscribe, other }
    private var kind = Kind.other
    /// Its place in the table.
    private var channel: Int?
    var channels: ChannelTable

    init(channels: ChannelTable) {
        self.channels = channels
    }

    /// Makes the link's reader call us.
    func attach(to link: Link) {
        // Unretained: our owner holds us for as long as the link is open, and only the link's loop calls us.
        link.read(with: Self.functions, context: Unmanaged.passUnretained(self).toOpaque())
    }

    // Never changed and never freed: hiredis keeps the pointer in every reader.
    nonisolated(unsafe) static let functions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
        let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
        functions.initialize(
            to: redisReplyObjectFunctions(
                createString: { task, text, count in
                    let bytes = UnsafeRawBufferPointer(start: text, count: count)
                    PushReader.of(task!).string(bytes, at: task!)
                    return PushReader.taken
                },
                createArray: { task, _ in
                    if task!.pointee.parent == nil { PushReader.of(task!).begin() }
                    return PushReader.taken
                },
                createInteger: { task, _ in
                    PushReader.of(task!).integer(at: task!)
                    return PushReader.taken
                },
                createNil: { _ in PushReader.taken },
                freeObject: { _ in }))
        return functions
    }()

    /// Stands for an object that we do not make; hiredis only compares it with NULL. Nothing is ever there.
    private nonisolated(unsafe) static let taken = UnsafeMutableRawPointer(bitPattern: 1)

    /// Unretained: see `attach`.
    private static func of(_ task: UnsafePointer<redisReadTask>) -> PushReader {
        Unmanaged<PushReader>.fromOpaque(task.pointee.privdata).takeUnretainedValue()
    }

    private func begin() {
        kind = .other
        channel = nil
    }

    private func string(_ bytes: UnsafeRawBufferPointer, at task: UnsafePointer<redisReadTask>) {
        guard let parent = task.pointee.parent else { return onAnswer(Self.answer(bytes, of: task.pointee.type)) }
        guard parent.pointee.parent == nil else { return }
        switch task.pointee.idx {
        case 0: kind = Self.kind(bytes)
        case 1:
            if kind == .message || kind == .subscribe { channel = channels.place(of: bytes) }
        case 2:
            if kind == .message, let channel { onMessage(channels[channel].index, bytes) }
        default:
            if kind == .patternMessage { onPatternMessage(bytes) }
        }
    }

    private func integer(at task: UnsafePointer<redisReadTask>) {
        // The third element of a confirmation: how many channels we have.
        guard task.pointee.parent != nil else { return }
        if kind == .subscribe, let channel { onSubscribed(channels[channel]) }
        if kind == .unsubscribe { onUnsubscribed() }
    }

    /// The kinds differ in length already, but for none that is not asked for: `message`, `pmessage`, `subscribe`,
    /// `unsubscribe`, and also `psubscribe`, `punsubscribe`.
    private static func kind(_ bytes: UnsafeRawBufferPointer) -> Kind {
        switch (bytes.count, bytes.first) {
        case (7, UInt8(ascii: "m")): .message
        case (8, UInt8(ascii: "p")): .patternMessage
        case (9, UInt8(ascii: "s")): .subscribe
        case (11, UInt8(ascii: "u")): .unsubscribe
        default: .other
        }
    }

    private static func answer(_ bytes: UnsafeRawBufferPointer, of type: CInt) -> RedisValue {
        let text = String(decoding: bytes, as: UTF8.self)
        return type == REDIS_REPLY_ERROR ? .error(text) : .status(text)
    }
}
