import CHiredis

extension RedisValue {
    /// Copies an answer from hiredis' memory. The caller still owns the reply and frees it.
    init(_ reply: UnsafePointer<redisReply>) {
        switch reply.pointee.type {
        case REDIS_REPLY_INTEGER:
            self = .integer(reply.pointee.integer)
        case REDIS_REPLY_STRING:
            self = .bytes(Array(reply.textBytes))
        case REDIS_REPLY_STATUS:
            self = .status(String(decoding: reply.textBytes, as: UTF8.self))
        case REDIS_REPLY_ERROR:
            self = .error(String(decoding: reply.textBytes, as: UTF8.self))
        case REDIS_REPLY_ARRAY:
            let elements = UnsafeBufferPointer(start: reply.pointee.element, count: reply.pointee.elements)
            self = .array(elements.map { $0.map { RedisValue($0) } ?? .null })
        default:
            // REDIS_REPLY_NIL; the reader of RESP2 makes no other kind.
            self = .null
        }
    }
}

extension UnsafePointer<redisReply> {
    /// The bytes of a string, status or error: hiredis' memory, valid until the reply is freed.
    fileprivate var textBytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: pointee.str, count: pointee.len)
    }
}

extension Result<RedisValue, RedisFailure> {
    /// An error as the whole answer becomes a failure.
    init(_ value: RedisValue) {
        if case .error(let line) = value { self = .failure(.server(line: line)) } else { self = .success(value) }
    }
}
