import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// Who is here: the users of all shards' lists, some hundred in each answer, so that no call costs more with more users.
extension Console {
    /// Users in an answer before it ends, and lists that are looked at.
    private static let (most, longest) = (200, 64)
    /// Users of a list that one step reads.
    private static let step = "200"
    /// Users whose records are read at a time.
    private static let window = 32

    func people(_ call: HTTPCall) throws(DecodingFailure) {
        let walk = try Walk(call.request.query, partitions: shard.partitions.count)
        call.ask(changes: false) {
            shard.store.command(["HKEYS", shard.partitions.space.leases], lane: .commands, reply: $0)
        } answered: { [self] value in
            walk.shards = (value.array ?? []).compactMap(\.string).filter { $0 != "swept" }.sorted()
            go(on: walk, call)
        }
    }

    /// A way through all lists: of each partition those of all shards, in the order of their names. It goes on where an
    /// earlier answer ended, although shards may have come and gone.
    private final class Walk {
        var shards: [String] = []
        var users: [UserID] = []
        private(set) var steps = 0
        private(set) var partition = 0
        private(set) var shard = ""
        private var cursor = "0"
        private let partitions: Int

        /// The query has `cursor=PARTITION:SHARD:CURSOR`, or nothing.
        init(_ query: String, partitions: Int) throws(DecodingFailure) {
            self.partitions = partitions
            guard let pair = query.split(separator: "&").first(where: { $0.hasPrefix("cursor=") }) else { return }
            let text = String(pair.dropFirst(7)).removingPercentEncoding ?? ""
            let words = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard words.count >= 3, let partition = Int(words[0]), 0..<partitions ~= partition,
                UInt64(words.last!) != nil
            else { throw .invalid("cursor", "must be what an earlier answer had") }
            self.partition = partition
            shard = words[1..<words.count - 1].joined(separator: ":")
            cursor = words.last!
        }

        /// The next list and where to go on in it; `nil`: all have been looked at.
        func next() -> (partition: Int, shard: String, cursor: String)? {
            guard !shards.isEmpty else { return nil }
            if cursor == "0" || !shards.contains(shard) {
                cursor = "0"
                if let following = shards.first(where: { $0 > shard }) {
                    shard = following
                } else {
                    (partition, shard) = (partition + 1, shards[0])
                }
            }
            guard partition < partitions else { return nil }
            steps += 1
            return (partition, shard, cursor)
        }

        /// The list has been read up to a cursor; 0: whole.
        func note(_ cursor: String) { self.cursor = cursor }

        var text: String { "\(partition):\(shard):\(cursor)" }
    }

    private func go(on walk: Walk, _ call: HTTPCall) {
        guard walk.users.count < Self.most, walk.steps < Self.longest else { return tell(walk, more: true, call) }
        guard let (partition, list, cursor) = walk.next() else { return tell(walk, more: false, call) }
        let key = shard.partitions.keys(partition).users(ofShard: list)
        call.ask(changes: false) {
            shard.store.command(["SSCAN", key, cursor, "COUNT", Self.step], lane: .commands, reply: $0)
        } answered: { [self] value in
            let answer = value.array ?? []
            walk.users += (answer.last?.array ?? []).compactMap { $0.string.flatMap { UserID($0) } }
            walk.note(answer.first?.string ?? "0")
            go(on: walk, call)
        }
    }

    private func tell(_ walk: Walk, more: Bool, _ call: HTTPCall) {
        var found: [UserID: String] = [:]
        BoundedConcurrency(walk.users, window: Self.window) { [self] user, next in
            let key = shard.partitions.keys(of: user).user(user)
            shard.store.command(["HMGET", key, "status", "since", "profile"], lane: .commands) { result in
                found[user] = Self.row(user, (try? result.get())?.array)
                next()
            }
        } done: {
            let rows = walk.users.compactMap { found.removeValue(forKey: $0) }.joined(separator: ",")
            let cursor = more ? #","cursor":\#(StatusArguments.encoded(walk.text))"# : ""
            call.respond(.json(200, #"{"people":[\#(rows)]\#(cursor)}"#))
        }
    }

    /// - Parameter words: `nil` if they could not be read: such a user is told as well.
    private static func row(_ user: UserID, _ words: [RedisValue]?) -> String {
        var row = #"{"user":\#(StatusArguments.encoded(user.string))"#
        guard let words else { return row + #","status":"unknown"}"# }
        let status = words.first?.string ?? ""
        row += #","status":"\#(["online", "away", "busy"].contains(status) ? status : "offline")""#
        if words.count > 1, let since = words[1].int { row += #","since":\#(since)"# }
        // Encoded anew: what lies there may be damaged.
        if let name = words.last?.bytes.flatMap(ProfileBody.displayName),
            let text = try? JSONDecoder().decode(String.self, from: Data(name))
        {
            row += #","displayName":\#(StatusArguments.encoded(text))"#
        }
        return row + "}"
    }
}
