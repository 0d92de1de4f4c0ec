import CHiredis

@testable import OutgoingHTTP
@testable import PresenceCore
@testable import PresenceServer
@testable import Redis

/// Input from Redis: answers, pushes, and the events in them, in one piece and byte by byte. And answers of an HTTP server.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // Unsafe: libFuzzer's memory, valid for the call.
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    readEvent(bytes)
    let whole = answers(in: bytes, pieces: bytes.count)
    let single = answers(in: bytes, pieces: 1)
    if whole != single { fatalError("answers differ with how they arrive: \(whole) \(single)") }
    let told = pushes(in: bytes, pieces: bytes.count)
    let toldSingly = pushes(in: bytes, pieces: 1)
    if told != toldSingly { fatalError("pushes differ with how they arrive: \(told) \(toldSingly)") }
    let answer = httpAnswer(in: bytes, pieces: bytes.count)
    let answerSingly = httpAnswer(in: bytes, pieces: 1)
    if answer != answerSingly { fatalError("HTTP differs with how it arrives: \(answer) \(answerSingly)") }
    return 0
}

private func httpAnswer(in bytes: UnsafeRawBufferPointer, pieces: Int) -> String {
    var reader = AnswerReader(most: 200)
    var start = 0
    while start < bytes.count {
        let end = min(start + pieces, bytes.count)
        let progress = reader.read(.init(rebasing: bytes[start..<end]))
        if reader.body.count > 200 { fatalError("a body is too large") }
        if progress == .whole { return "\(reader.status) \(reader.body)" }
        if progress != .more { return "\(progress)" }
        start = end
    }
    return "\(reader.end) \(reader.body)"
}

private func readEvent(_ payload: UnsafeRawBufferPointer) {
    guard let event = StoreEvent(payload) else { return }
    _ = event.subject
    _ = event.words
    _ = PolicyChange(event)
    if event.version < 0 || event.at < 0 { fatalError("a number below 0 was read") }
}

private func answers(in bytes: UnsafeRawBufferPointer, pieces: Int) -> [RedisValue] {
    var values: [RedisValue] = []
    let reader = redisReaderCreate()!
    reader.pointee.fn = AnswerObjects.functions
    defer { redisReaderFree(reader) }
    feed(bytes, pieces, to: reader) { object in
        let reply = object.assumingMemoryBound(to: redisReply.self)
        let value = RedisValue(reply)
        values.append(value)
        _ = PersonRead(value)
        _ = PolicyRead(value)
        freeReplyObject(reply)
    }
    return values
}

private func pushes(in bytes: UnsafeRawBufferPointer, pieces: Int) -> [String] {
    var told: [String] = []
    let push = PushReader(channels: ChannelTable(["{p017}:events", "canary"]))
    push.onMessage = { channel, payload in
        readEvent(payload)
        told.append("\(channel) \(Array(payload))")
    }
    push.onSubscribed = { told.append("subscribed \($0)") }
    push.onAnswer = { told.append("\($0)") }
    // Unretained: `push` lives until the reader is freed.
    let reader = redisReaderCreateWithFunctions(PushReader.functions)!
    reader.pointee.privdata = Unmanaged.passUnretained(push).toOpaque()
    defer { redisReaderFree(reader) }
    withExtendedLifetime(push) { feed(bytes, pieces, to: reader) { _ in } }
    return told
}

/// Feeds everything, this many bytes at a time, until the reader stops.
private func feed(
    _ bytes: UnsafeRawBufferPointer, _ size: Int, to reader: UnsafeMutablePointer<redisReader>,
    _ body: (UnsafeMutableRawPointer) -> Void
) {
    var start = 0
    while start < bytes.count {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)])
        start += size
        guard redisReaderFeed(reader, piece.baseAddress!, piece.count) == REDIS_OK else { return }
        var object: UnsafeMutableRawPointer?
        repeat {
            object = nil
            guard redisReaderGetReply(reader, &object) == REDIS_OK else { return }
            if let object { body(object) }
        } while object != nil
    }
}
