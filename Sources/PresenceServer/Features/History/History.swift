import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Each user's past statuses as intervals, so that backends can find out who was online when.
///
/// The scripts that change presence store an interval when it ends (`presence-lib.lua`, ``PastStatuses``). The interval that has
/// not ended is the user's present status. So the history contains only statuses that others could see: nothing is
/// stored while a user is invisible or hidden from everyone. The history is off by default, and then costs nothing.
final class History: Feature {
    static let plan = FeaturePlan(
        name: "history", scripts: [.history], keys: [.history], settings: settings,
        past: { configuration in
            guard configuration[History.enabled] else { return nil }
            return PastStatuses(
                in: .history, for: configuration[History.keepFor], most: configuration[History.mostPerUser])
        })

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        guard shard.configuration[History.enabled] else { return }
        registry.route(
            "GET", "/v1/users/{id}/history", scope: .usersRead,
            answer: { [unowned self] (call) async throws(Refusal) in try await get(call) })
        registry.route(
            "DELETE", "/v1/users/{id}/history", scope: .usersWrite,
            answer: { [unowned self] (call) async throws(Refusal) in
                let key = shard.partitions.keys(of: call.ids[0]).history(call.ids[0])
                _ = try await shard.run("DEL", key, changes: true)
                return .done
            })
    }

    private func get(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = call.ids[0]
        let query = try call.decoded { (_) throws(DecodingFailure) in try HistoryQuery(call.request.query) }
        let maySee = try await mayBeSeen(user, by: query.viewer)
        let keys = shard.partitions.keys(of: user)
        let reply = try await shard.run(
            ScriptCall(.history, in: keys, ["user": keys.user(user), "history": keys.history(user)]), changes: false)
        guard let read = PastRead(reply) else {
            shard.recordDamage("history", of: user)
            throw Refusal(.damagedRecord())
        }
        return .json(200, encode(read, query, of: user, isSeen: maySee))
    }

    /// Whether a viewer may see all of a user's presence. Only such a viewer may see the history, because it shows when
    /// the user was last seen.
    private func mayBeSeen(_ user: UserID, by viewer: UserID?) async throws(Refusal) -> Bool {
        guard let viewer else { return true }
        let people = [user, viewer].map { shard.watchers.hold(person: $0) }
        defer { people.forEach(shard.watchers.release) }
        guard await shard.tasks.wait(for: { shard.loader.load(people, payer: viewer, done: $0) }) == .loaded else {
            throw Refusal(
                .unavailable, "the store cannot be reached, so access to this user is unknown", retryAfter: 1_000)
        }
        return shard.policies.view(of: user, for: viewer) == .whole
    }

    /// A viewer who may not see the user's history gets the same answer as for a user who was never online.
    private func encode(_ read: PastRead, _ query: HistoryQuery, of user: UserID, isSeen: Bool) -> [UInt8] {
        let intervals = isSeen ? read.intervals : []
        var keptFrom = read.now - shard.configuration[History.keepFor]
        // Earlier intervals may have been removed to make room. The present one is not stored.
        let kept = intervals.count { $0.to != nil }
        if kept >= shard.configuration[History.mostPerUser] { keptFrom = max(keptFrom, intervals[0].from) }
        let (page, more) = query.page(of: intervals, keptFrom: keptFrom)
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(user.string, to: &json)
        json += Array(#","now":\#(read.now),"keptFrom":\#(keptFrom),"intervals":["#.utf8)
        for (index, interval) in page.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            interval.write(to: &json)
        }
        json += Array((more ? #"],"more":true}"# : "]}").utf8)
        return json
    }
}

extension Script {
    static let history = Script("history", asset_history())
}

/// Settings of history. config/presenced.yaml has each with its description.
extension History {
    static let enabled = Setting<Bool>(
        "history.enabled", false,
        about: "Whether the server records when each user was online, busy and away, for backends to read.")
    static let keepFor = Setting<Milliseconds>(
        "history.keepFor", 7 * 24 * 3_600_000, in: 1_000...365 * 24 * 3_600_000,
        about: "How long after its end an interval is kept.")
    static let mostPerUser = Setting<Int>(
        "history.mostPerUser", 500, in: 1...10_000,
        about: "How many intervals of a user are kept at most; the oldest are removed first. One takes some 17 bytes "
            + "of Redis.")

    static let settings: [any AnySetting] = [enabled, keepFor, mostPerUser]
}

extension KeyFamily {
    /// A user's past statuses: a list, the oldest first.
    static let history = KeyFamily(name: "history", isPassing: false, type: "list", expires: true)
}

extension PartitionKeys {
    func history(_ id: UserID) -> String { key(.history, id) }
}
