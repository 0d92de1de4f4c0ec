import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Checks of histories with expiring messages: no message is removed early, and each soon after its time, also without
/// writers.
extension TalkHistory {
    /// Time in which a sweep reaches every partition and is answered.
    private var bound: Milliseconds { keepFor / 10 + 1_000 }

    /// The oldest stored message; without aging, the first.
    func first(of id: String) throws -> Int64 {
        let id = ConversationID(id)!
        let value = try redis.ask(["HGET", partitions.keys(of: id).conversation(id), "first"]).get()
        return value.string.flatMap { Int64($0) } ?? 1
    }

    /// The removed messages, by their numbers. Each acknowledged one was kept for its full time.
    func names(before first: Int64, of id: String) -> [(seq: Int64, name: String)] {
        let gone = acknowledged.filter { $0.value < first && isOf($0.key, id) }
        return gone.map { (seq: $0.value, name: $0.key) }
    }

    private func isOf(_ name: String, _ id: String) -> Bool { talkOf[name] == id }

    /// Checks that no message was removed early.
    func checkAges() throws {
        for id in talks {
            let first = try first(of: id)
            for message in try stored(id) { times[id, default: [:]][message.seq] = message.at }
            for (seq, at) in times[id] ?? [:] where seq < first && at > world.redisNow - keepFor {
                fail("\(seq) of \(id) went after \(world.redisNow - at) ms")
            }
        }
    }

    /// Checks that all older messages are removed once the servers have had time.
    func age() throws {
        try world.run(for: bound)
        try checkAges()
        for id in talks {
            for message in try stored(id) where message.at < world.redisNow - keepFor - bound {
                fail("\(message.seq) of \(id) is there after \(world.redisNow - message.at) ms")
            }
        }
    }

    /// Checks that all messages are removed and leave no trace.
    func ageAll() throws {
        try world.run(for: keepFor + bound)
        for id in talks {
            let id = ConversationID(id)!
            let keys = partitions.keys(of: id)
            for key in [keys.log(id), keys.prints(id), keys.changes(id)]
            where try redis.ask(["EXISTS", key]).get().int != 0 {
                fail("\(key) is there, though nobody has written for \(keepFor) ms")
            }
            let entry = try redis.ask(["ZSCORE", keys.aging, id.string]).get()
            if entry.string != nil { fail("\(id) ages without messages") }
        }
    }
}
