/// A Lua script, known to Redis by the SHA-1 of its source.
public struct RedisScript: Sendable {
    /// Its name in errors: that of its file, for example.
    public let name: String
    public let source: String
    /// 40 lowercase hex digits, as `EVALSHA` takes them.
    public let sha1: String

    /// `EVALSHA` and the digest as sent, encoded once: every call contains them.
    let evalsha: [UInt8]

    /// The command that loads it into Redis.
    var loading: [RedisArgument] { ["SCRIPT", "LOAD", .string(source)] }

    public init(name: String, source: String) {
        self.name = name
        self.source = source
        sha1 = SHA1.hexDigest(of: Array(source.utf8))
        var wire: [UInt8] = []
        wire.append(argument: .string("EVALSHA"))
        wire.append(argument: .string(sha1))
        evalsha = wire
    }
}
