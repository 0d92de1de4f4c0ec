import Foundation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Users who are online, from the lists of all shards: some hundred in each answer, so the cost of a call does not grow with
/// the number of users.
extension Console {
    /// The most users in an answer, and the most lists read for it.
    private static let (most, longest) = (200, 64)
    /// How many users one step reads of a list.
    private static let step = "200"
    /// How many users' records are read at a time.
    private static let window = 32

    func people(_ call: HTTPCall) async throws -> HTTPResponse {
        let walk = try Walk(call.request.query, partitions: shard.partitions.count)
        let leases = try await shard.run("HKEYS", shard.partitions.space.leases).array ?? []
        walk.shards = leases.compactMap(\.string).filter { $0 != "swept" }.sorted()
        while walk.users.count < Self.most, walk.steps < Self.longest {
            guard let (partition, list, cursor) = walk.next() else { return await respond(walk, more: false) }
            let key = shard.partitions.keys(partition).users(ofShard: list)
            let page = try await shard.run("SSCAN", key, cursor, "COUNT", Self.step).array ?? []
            walk.users += (page.last?.array ?? []).compactMap { $0.string.flatMap { UserID($0) } }
            walk.record(page.first?.string ?? "0")
        }
        return await respond(walk, more: true)
    }

    /// A walk through all lists: partition by partition, and in each the lists of all shards, in the order of their names. It
    /// continues where an earlier answer ended, even if shards have started or ended since.
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
            guard let text = CallQuery(query)["cursor"].map({ $0.removingPercentEncoding ?? "" }) else { return }
            let words = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard words.count >= 3, let partition = Int(words[0]), 0..<partitions ~= partition,
                UInt64(words.last!) != nil
            else { throw .invalid("cursor", "must be what an earlier answer had") }
            self.partition = partition
            shard = words[1..<words.count - 1].joined(separator: ":")
            cursor = words.last!
        }

        /// The next list, and the cursor within it; `nil` if all have been read.
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

        /// Records the cursor up to which the list has been read; 0 if it is complete.
        func record(_ cursor: String) { self.cursor = cursor }

        var text: String { "\(partition):\(shard):\(cursor)" }
    }

    private func respond(_ walk: Walk, more: Bool) async -> HTTPResponse {
        var found: [UserID: String] = [:]
        await shard.tasks.each(walk.users, window: Self.window) { [self] user in
            let key = shard.partitions.keys(of: user).user(user)
            let words = try? await shard.command(["HMGET", key, "status", "since", "profile"]).array
            found[user] = Self.row(user, words)
        }
        let rows = walk.users.compactMap { found.removeValue(forKey: $0) }.joined(separator: ",")
        let cursor = more ? #","cursor":\#(JSONWriter.encoded(walk.text))"# : ""
        return .json(200, #"{"people":[\#(rows)]\#(cursor)}"#)
    }

    /// - Parameter words: `nil` if the record could not be read; the user is listed anyway.
    private static func row(_ user: UserID, _ words: [RedisValue]?) -> String {
        var row = #"{"user":\#(JSONWriter.encoded(user.string))"#
        guard let words else { return row + #","status":"unknown"}"# }
        let status = words.first?.string ?? ""
        row += #","status":"\#(["online", "away", "busy"].contains(status) ? status : "offline")""#
        if words.count > 1, let since = words[1].int { row += #","since":\#(since)"# }
        // Encoded anew, because the stored text may be damaged.
        if let name = words.last?.bytes.flatMap(ProfileBody.displayName),
            let text = try? JSONDecoder().decode(String.self, from: Data(name))
        {
            row += #","displayName":\#(JSONWriter.encoded(text))"#
        }
        return row + "}"
    }
}
