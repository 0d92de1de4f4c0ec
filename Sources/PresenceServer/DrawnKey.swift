import Passwords
import PresenceCore
import PresenceProtocol
import Redis

/// A secret of an installation that its first server draws, and all others read. A Redis that has another, or none, is another
/// installation's, or has lost its data.
final class DrawnKey {
    private unowned let shard: ShardLogic
    private let name: String
    private let count: Int
    /// For the log.
    private let what: String
    /// `nil` until Redis has told it.
    private(set) var bytes: [UInt8]?

    /// - Parameters:
    ///   - name: Of the key in Redis, which holds hexadecimal digits.
    ///   - count: How many bytes it has.
    init(_ shard: ShardLogic, _ name: String, count: Int, what: String) {
        (self.shard, self.name, self.count, self.what) = (shard, name, count, what)
    }

    /// - Parameter done: Gets why Redis did not tell it.
    func read(_ done: @escaping (RedisFailure?) -> Void) {
        let drawn = Sodium.random(count).hexadecimal
        var refusal: RedisFailure?
        shard.store.command(["SET", name, drawn, "NX"], lane: .commands) { refusal = $0.failure }
        ask { [self] result in
            switch result {
            case .failure(let failure) where !failure.isLasting: done(failure)
            // There is none, and it could not be drawn: memory may be full.
            case .success(let found) where found == .missing && refusal != nil: done(refusal)
            case .success(.key(let key)):
                bytes = key
                done(nil)
            // What is known of it stays good.
            default:
                shard.log("damaged record", ["what": what], level: .error)
                done(nil)
            }
        }
    }

    /// Whether Redis has it still; `false` also when that is not known.
    func isKnown(_ done: @escaping (Bool) -> Void) {
        guard let bytes else { return done(false) }
        ask { done((try? $0.get()) == .key(bytes)) }
    }

    private enum Found: Equatable {
        case missing, damaged
        case key([UInt8])
    }

    private func ask(_ found: @escaping (Result<Found, RedisFailure>) -> Void) {
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
