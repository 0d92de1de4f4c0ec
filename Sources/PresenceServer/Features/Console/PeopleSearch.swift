import Foundation
import PresenceCore
import PresenceProtocol

/// The search of all users, and the number of users with sessions: on each shard, and of all. Both read much, so they use the console's
/// thread.
extension Console {
    private static let longestText = 200
    /// Only the number leaves Redis. It takes some 0.5 ms for 1,000 users of a partition.
    private static let union = "return #redis.call('SUNION', unpack(KEYS))"

    func search(_ call: HTTPCall) throws(DecodingFailure) {
        guard let text = Self.member("text", in: call) else { throw .missing("text") }
        guard 1...Self.longestText ~= text.utf8.count else {
            throw .invalid("text", "must have 1 to \(Self.longestText) bytes")
        }
        let cursor = Self.member("cursor", in: call)
        guard cursor.map(AccountConsole.isCursor) ?? true else {
            throw .invalid("cursor", "must be what an earlier answer had")
        }
        respond(call) { configuration in
            let console = try AccountConsole(url: Doctor.place(of: configuration), configuration: configuration)
            return try JSONEncoder().encode(console.search(text, after: cursor))
        }
    }

    func totals(_ call: HTTPCall) {
        struct Totals: Encodable {
            struct Shard: Encodable {
                let name: String
                var users: Int64 = 0
            }
            /// Each counts once, even with devices on several shards.
            var users: Int64 = 0
            var shards: [Shard]
        }
        respond(call) { configuration in
            let place = try ConsoleStore(url: Doctor.place(of: configuration), configuration: configuration)
            let (store, partitions) = (place.store, place.partitions)
            let key = partitions.space.leases
            let names = (try store[key].run("HKEYS", key).array ?? []).compactMap(\.string).filter { $0 != "swept" }
            var totals = Totals(shards: names.sorted().map { Totals.Shard(name: $0) })
            for partition in 0..<partitions.count {
                let keys = partitions.keys(partition)
                let lists = totals.shards.map { keys.users(ofShard: $0.name) }
                guard !lists.isEmpty else { break }
                let counts = try store[keys.shards].runAll(
                    lists.map { ["SCARD", $0] } + [["EVAL", Self.union, String(lists.count)] + lists])
                for place in lists.indices { totals.shards[place].users += try counts[place].get().int ?? 0 }
                totals.users += try counts[lists.count].get().int ?? 0
            }
            return try JSONEncoder().encode(totals)
        }
    }

    private func respond(_ call: HTTPCall, _ work: @escaping @Sendable (ServerConfiguration) throws -> Data) {
        let configuration = shard.configuration
        call.work(Self.redisThread) {
            (try? work(configuration)).map { Array($0) }
        } then: { found in
            guard let found else { return call.refuse(503, Self.unread) }
            call.respond(.json(200, found))
        }
    }
}
