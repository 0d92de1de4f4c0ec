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

    /// - Parameter done: Called with the failure if Redis could not be read.
    func read(_ done: @escaping (RedisFailure?) -> Void) {
        let drawn = Sodium.random(count).hexadecimal
        var refusal: RedisFailure?
        shard.store.command(["SET", name, drawn, "NX"], lane: .commands) { refusal = $0.failure }
        load { [self] result in
            switch result {
            case .failure(let failure) where !failure.isLasting: done(failure)
            // Redis has no key and refused to store one; its memory may be full.
            case .success(let found) where found == .missing && refusal != nil: done(refusal)
            case .success(.key(let key)):
                bytes = key
                done(nil)
            // The bytes that were read earlier stay valid.
            default:
                shard.log("damaged record", ["what": what], level: .error)
                done(nil)
            }
        }
    }

    /// Whether Redis still has the same key; `false` also if Redis cannot be read.
    func isKnown(_ done: @escaping (Bool) -> Void) {
        guard let bytes else { return done(false) }
        load { done((try? $0.get()) == .key(bytes)) }
    }

    private enum Found: Equatable {
        case missing, damaged
        case key([UInt8])
    }

    private func load(_ found: @escaping (Result<Found, RedisFailure>) -> Void) {
        shard.store.command(["GET", name], lane: .commands) { [count] result in
            found(
                result.map { value in
                    guard !value.isNull else { return .missing }
                    guard let key = value.string.flatMap({ [UInt8](hexadecimal: $0) }), key.count == count else {
                        return .damaged
                    }
                    return .key(key)
                })
        }
    }
}
