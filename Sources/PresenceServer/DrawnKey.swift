import Passwords
import PresenceCore
import PresenceProtocol
import Redis

/// A random secret that the first server of an installation writes to Redis, and that all other servers read. A Redis that has
/// another secret or none belongs to another installation, or has lost its data.
final class DrawnKey {
    private unowned let shard: ShardLogic
    private let name: String
    private let count: Int
    /// The purpose of the key, as the log names it.
    private let what: String
    /// `nil` until it has been read from Redis.
    private(set) var bytes: [UInt8]?

    /// - Parameters:
    ///   - name: The key in Redis; its value is hexadecimal.
    ///   - count: The secret's length in bytes.
    init(_ shard: ShardLogic, _ name: String, count: Int, what: String) {
        (self.shard, self.name, self.count, self.what) = (shard, name, count, what)
    }

    func read() async throws(RedisFailure) {
        var refusal: RedisFailure?
        do throws(RedisFailure) {
            _ = try await shard.command(["SET", name, Sodium.random(count).hexadecimal, "NX"])
        } catch {
            refusal = error
        }
        let found: Found
        do throws(RedisFailure) { found = try await load() } catch  where error.isLasting { found = .damaged }
        if case .key(let key) = found { return bytes = key }
        // Redis has no key and refused to store one; its memory may be full.
        if found == .missing, let refusal { throw refusal }
        // The bytes that were read earlier stay valid.
        shard.log("damaged record", ["what": what], level: .error)
    }

    /// Whether Redis still has the same key; `false` also if Redis cannot be read.
    func isKnown() async -> Bool {
        guard let bytes else { return false }
        return (try? await load()) == .key(bytes)
    }

    private enum Found: Equatable {
        case missing, damaged
        case key([UInt8])
    }

    private func load() async throws(RedisFailure) -> Found {
        let value = try await shard.command(["GET", name])
        guard !value.isNull else { return .missing }
        guard let key = value.string.flatMap({ [UInt8](hexadecimal: $0) }), key.count == count else { return .damaged }
        return .key(key)
    }
}
