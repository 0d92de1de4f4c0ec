import Signing

/// A Lua script, known to Redis by the SHA-1 of its source.
public struct RedisScript: Sendable {
    /// Its name in errors: that of its file, for example.
    public let name: String
    public let source: String
    /// 40 lowercase hex digits, as `EVALSHA` takes them.
    public let sha1: String

    /// `EVALSHA` and the digest as sent, encoded once: every call contains them.
    let evalsha: [UInt8]

    public init(name: String, source: String) {
        self.name = name
        self.source = source
        let digits = Array("0123456789abcdef".utf8)
        let digest = SHA1.hash(Array(source.utf8)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        sha1 = String(decoding: digest, as: UTF8.self)
        var wire: [UInt8] = []
        wire.append(argument: .string("EVALSHA"))
        wire.append(argument: .string(sha1))
        evalsha = wire
    }
}
