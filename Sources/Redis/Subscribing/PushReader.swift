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
/// Confined to the loop's thread; must outlive the link that reads with it.
final class PushReader {
    /// A message on one of the channels; the bytes are lent for the call.
    var onMessage: (_ channel: Int, _ payload: UnsafeRawBufferPointer) -> Void = { _, _ in }
    /// Redis confirmed the subscription to a channel.
    var onSubscribed: (_ channel: Int) -> Void = { _ in }
    /// Something that is not a push: an answer to one of the greetings, or an error.
    var onAnswer: (RedisValue) -> Void = { _ in }

    private enum Kind { case message, subscribe, other }
    private var kind = Kind.other
    private var channel: Int?
    private let channels: ChannelTable

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
        case 1: channel = channels.index(of: bytes)
        default:
            if kind == .message, let channel { onMessage(channel, bytes) }
        }
    }

    private func integer(at task: UnsafePointer<redisReadTask>) {
        // The third element of a confirmation: how many channels we have.
        if task.pointee.parent != nil, kind == .subscribe, let channel { onSubscribed(channel) }
    }

    /// The kinds differ in length already: `message` and `subscribe`, but also `pmessage`, `unsubscribe`.
    private static func kind(_ bytes: UnsafeRawBufferPointer) -> Kind {
        switch (bytes.count, bytes.first) {
        case (7, UInt8(ascii: "m")): .message
        case (9, UInt8(ascii: "s")): .subscribe
        default: .other
        }
    }

    private static func answer(_ bytes: UnsafeRawBufferPointer, of type: CInt) -> RedisValue {
        let text = String(decoding: bytes, as: UTF8.self)
        return type == REDIS_REPLY_ERROR ? .error(text) : .status(text)
    }
}
