import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// "Who was online when": the statuses of each user that are over, as intervals, for backends.
///
/// The scripts that change presence keep an interval at its end (`lib.lua`, ``PastStatuses``); the one that lasts is the
/// user's present status. So history is what others were shown, no more: of a user who is invisible, or whom nobody may
/// see, nothing is kept. Off, as it is by default, it costs nothing.
final class History: Feature {
    static let plan = FeaturePlan(
        name: "history", scripts: [.history], keys: [.history], settings: FeatureSetting.history,
        past: { configuration in
            guard configuration.isOn(.historyEnabled) else { return nil }
            return PastStatuses(
                in: .history, for: configuration[.historyKeepFor], most: Int(configuration[.historyMost]))
        })

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        guard shard.configuration.isOn(.historyEnabled) else { return }
        registry.route("GET", "/v1/users/{id}/history") { [unowned self] (call) throws(DecodingFailure) in
            try get(call)
        }
        registry.route("DELETE", "/v1/users/{id}/history") { [unowned self] call in delete(call) }
    }

    private func get(_ call: HTTPCall) throws(DecodingFailure) {
        let (user, query) = (call.ids[0], try HistoryQuery(call.request.query))
        mayBeSeen(user, by: query.viewer) { [self] maySee in
            guard let maySee else {
                return call.refuse(
                    503,
                    .init(
                        code: .unavailable, message: "the store is out of reach: who may see this user is not known",
                        retryAfter: 1_000))
            }
            let keys = shard.partitions.keys(of: user)
            call.ask(changes: false) {
                shard.store.run(
                    .history, keys: [keys.user(user), keys.history(user)], arguments: [], lane: .commands, reply: $0)
            } answered: { [self] value in
                guard let read = PastRead(value) else {
                    shard.noteDamage("history", of: user)
                    return call.respond(.error(500, .damagedRecord()))
                }
                call.respond(.json(200, answer(read, query, of: user, isSeen: maySee)))
            }
        }
    }

    private func delete(_ call: HTTPCall) {
        let user = call.ids[0]
        call.ask {
            shard.store.command(["DEL", shard.partitions.keys(of: user).history(user)], lane: .commands, reply: $0)
        } answered: { _ in
            call.respond(.done)
        }
    }

    /// Whether somebody may see a user's presence whole; `nil` if that cannot be known now. When a user was there says when
    /// they were last seen.
    private func mayBeSeen(_ user: UserID, by viewer: UserID?, then: @escaping (Bool?) -> Void) {
        guard let viewer else { return then(true) }
        let people = [user, viewer].map { shard.watchers.hold(person: $0) }
        shard.loader.load(people, payer: viewer) { [self] outcome in
            defer { people.forEach(shard.watchers.release) }
            guard outcome == .loaded else { return then(nil) }
            then(shard.policies.view(of: user, for: viewer) == .whole)
        }
    }

    /// What somebody who may not see it is told is what is told of a user who never was there.
    private func answer(_ read: PastRead, _ query: HistoryQuery, of user: UserID, isSeen: Bool) -> [UInt8] {
        let intervals = isSeen ? read.intervals : []
        var keptFrom = read.now - shard.configuration[.historyKeepFor]
        // Earlier ones may have gone to make room. The present one is not among those that are kept.
        let kept = intervals.count { $0.to != nil }
        if kept >= Int(shard.configuration[.historyMost]) { keptFrom = max(keptFrom, intervals[0].from) }
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
