import PresenceCore
import PresenceProtocol
import Redis

/// Looks through the keys of one Redis for conversations that `aging` lacks, in bounded steps: one `SCAN` for all partitions.
///
/// What a step does may be done twice, or by several servers at once: an entry that is there stays as it is.
final class AgingSearch {
    enum Found {
        /// There is more to look at.
        case more
        /// Another server has looked for this partition.
        case partition
        /// All keys have been looked at.
        case all
        /// It is tried again from the beginning.
        case failed
    }

    private unowned let shard: ShardLogic
    private let mostKeys: Int
    private let holdsFor: Milliseconds
    /// `nil`: nothing is under way.
    private var cursor: String?
    /// What the keys of each partition's conversations begin with.
    private lazy var places = Dictionary(
        uniqueKeysWithValues: (0..<shard.partitions.count).map { (shard.partitions.keys($0).conversations, $0) })

    init(_ shard: ShardLogic, mostKeys: Int, holdsFor: Milliseconds) {
        self.shard = shard
        self.mostKeys = mostKeys
        self.holdsFor = holdsFor
    }

    func beginAgain() { cursor = nil }

    /// - Parameter keys: The partition whose turn it is.
    func step(_ keys: PartitionKeys, done: @escaping (Found) -> Void) {
        if let cursor { return scan(cursor, keys, done: done) }
        shard.store.command(["EXISTS", keys.agingFound], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return done(.failed) }
            if value.int == 1 { return done(.partition) }
            scan("0", keys, done: done)
        }
    }

    private func scan(_ from: String, _ keys: PartitionKeys, done: @escaping (Found) -> Void) {
        cursor = nil
        // Of any partition: the one whose turn it is says what its name is like.
        let name = keys.conversations
        let pattern = Self.quoted(name.prefix { $0 != "{" }) + "{*}:conversation:*"
        shard.store.command(
            ["SCAN", from, "MATCH", pattern, "COUNT", String(mostKeys)], lane: .commands
        ) { [self] result in
            guard case .success(let value) = result, let reply = value.array, reply.count == 2,
                let next = reply[0].string, let found = reply[1].array
            else { return done(.failed) }
            enter(found.compactMap(\.string)) { [self] isEntered in
                guard isEntered else { return done(.failed) }
                guard next == "0" else {
                    cursor = next
                    return done(.more)
                }
                let marks = (0..<shard.partitions.count).map { place in
                    ["SET", shard.partitions.keys(place).agingFound, "1", "PX", String(holdsFor)]
                }
                run(marks) { done($0 ? .all : .failed) }
            }
        }
    }

    private func enter(_ found: [String], done: @escaping (Bool) -> Void) {
        var names: [Int: [String]] = [:]
        for key in found {
            guard let brace = key.utf8.firstIndex(of: UInt8(ascii: "}")) else { continue }
            let end = key[brace...].utf8.dropFirst().dropFirst().firstIndex(of: UInt8(ascii: ":"))
            guard let end, let place = places[String(key[...end])] else { continue }
            names[place, default: []].append(String(key[key.utf8.index(after: end)...]))
        }
        let entries = names.sorted { $0.key < $1.key }.map { place, ids in
            ["ZADD", shard.partitions.keys(place).aging, "NX"] + ids.flatMap { ["0", $0] }
        }
        run(entries, done: done)
    }

    /// - Parameter done: Gets whether Redis has done all of them.
    private func run(_ commands: [[String]], done: @escaping (Bool) -> Void) {
        var isDone = true
        BoundedConcurrency(commands, window: 8) { [self] command, next in
            shard.store.command(command, lane: .commands) { result in
                if case .failure = result { isDone = false }
                next()
            }
        } done: {
            done(isDone)
        }
    }

    /// What a pattern takes as it is.
    private static func quoted(_ text: Substring) -> String {
        text.map { "*?[]\\^".contains($0) ? "\\\($0)" : String($0) }.joined()
    }
}
