import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// What holds while messages are kept for a time: none goes before that, and all go soon after it, also where nobody writes.
extension TalkHistory {
    /// In which a sweep comes to every partition, and is answered.
    private var bound: Milliseconds { keepFor / 10 + 1_000 }

    /// The oldest message that is kept; without aging, the first.
    func first(of id: String) throws -> Int64 {
        let id = ConversationID(id)!
        let value = try redis.ask(["HGET", partitions.keys(of: id).conversation(id), "first"]).get()
        return value.string.flatMap { Int64($0) } ?? 1
    }

    /// Messages that have gone, by their numbers: what was acknowledged of them was kept for as long as it should.
    func names(before first: Int64, of id: String) -> [(seq: Int64, name: String)] {
        let gone = acknowledged.filter { $0.value < first && isOf($0.key, id) }
        return gone.map { (seq: $0.value, name: $0.key) }
    }

    private func isOf(_ name: String, _ id: String) -> Bool { talkOf[name] == id }

    /// Nothing has gone that is younger than messages are kept.
    func lookAtAges() throws {
        for id in talks {
            let first = try first(of: id)
            for message in try stored(id) { times[id, default: [:]][message.seq] = message.at }
            for (seq, at) in times[id] ?? [:] where seq < first && at > world.redisNow - keepFor {
                fail("\(seq) of \(id) went after \(world.redisNow - at) ms")
            }
        }
    }

    /// Everything that is older has gone, once the servers have had time.
    func age() throws {
        try world.run(for: bound)
        try lookAtAges()
        for id in talks {
            for message in try stored(id) where message.at < world.redisNow - keepFor - bound {
                fail("\(message.seq) of \(id) is there after \(world.redisNow - message.at) ms")
            }
        }
    }

    /// All has gone, and nothing is left of it.
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
