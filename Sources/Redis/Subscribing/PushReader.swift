import CHiredis

/// Reads Redis' pushes to a subscriber directly from hiredis' buffer, without an allocation for a message.
///
/// hiredis' reader calls one of these functions for each element as it parses it:
///
///     *3                 (root)   createArray
///     $7 message         [0]      createString: the kind
///     $13 {p017}:events  [1]      createString: the channel, looked up immediately, since the buffer may move
///     $152 …             [2]      createString: the payload, passed to `onMessage`
///
/// A message by a pattern has the pattern before its channel.
///
/// Confined to the loop's thread; must outlive the link that reads with it.
final class PushReader {
    /// A message on one of the channels, by its index; the bytes are valid during the call.
    var onMessage: (_ channel: Int, _ payload: UnsafeRawBufferPointer) -> Void = { _, _ in }
    /// A message on a channel that matches the pattern.
    var onPatternMessage: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    /// Redis confirmed the subscription to a channel.
    var onSubscribed: (ChannelTable.Channel) -> Void = { _ in }
    /// Redis confirmed the end of a subscription.
    var onUnsubscribed: () -> Void = {}
    /// Any other reply: an answer to a greeting, or an error.
    var onAnswer: (RedisValue) -> Void = { _ in }

    private enum Kind { case message, patternMessage, subscribe, unsubscribe, other }
    private var kind = Kind.other
    /// The channel's place in the table.
    private var channel: Int?
    var channels: ChannelTable

    init(channels: ChannelTable) {
        self.channels = channels
    }

    /// Makes the link's reader call this object.
    func attach(to link: Link) {
        // Unretained: the owner keeps this object while the link is open, and only the link's loop calls it.
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

    /// Stands for an object that is not built; hiredis only compares it with NULL and never dereferences it.
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
        guard let parent = task.pointee.parent else { return onAnswer(Self.decode(bytes, of: task.pointee.type)) }
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
        // The third element of a confirmation: the number of subscribed channels.
        guard task.pointee.parent != nil else { return }
        if kind == .subscribe, let channel { onSubscribed(channels[channel]) }
        if kind == .unsubscribe { onUnsubscribed() }
    }

    /// The requested kinds differ in length: `message`, `pmessage`, `subscribe`, `unsubscribe`, and also `psubscribe`,
    /// `punsubscribe`.
    private static func kind(_ bytes: UnsafeRawBufferPointer) -> Kind {
        switch (bytes.count, bytes.first) {
        case (7, UInt8(ascii: "m")): .message
        case (8, UInt8(ascii: "p")): .patternMessage
        case (9, UInt8(ascii: "s")): .subscribe
        case (11, UInt8(ascii: "u")): .unsubscribe
        default: .other
        }
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer, of type: CInt) -> RedisValue {
        let text = String(decoding: bytes, as: UTF8.self)
        return type == REDIS_REPLY_ERROR ? .error(text) : .status(text)
    }
}
