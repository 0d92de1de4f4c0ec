import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Backends ban users: everywhere, or in one conversation. Scripts that read the user or conversation anyway enforce a ban
/// (`banned` in lib.lua).
final class Banning: Feature {
    static let plan = FeaturePlan(
        name: "bans", scripts: [.ban, .unban, .banMember, .unbanMember, .bans], keys: [.bans])

    /// In one conversation: each message reads all of its record.
    static let mostInConversation = 100
    /// How many partitions are read at a time for a page of all bans.
    private static let window = 16

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        let limits = RouteLimits(bodyBytes: 4_096)
        registry.route(
            "PUT", "/v1/users/{id}/ban", scope: .moderationWrite, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in
                let now = shard.clock.redisNow
                let request = try call.decoded { (_) throws(DecodingFailure) in try BanRequest(call.body, at: now) }
                let row = try await ban(call.ids[0], request)
                return .json(200, Array(#"{"ban":"#.utf8) + row.json + [UInt8(ascii: "}")])
            })
        registry.route(
            "DELETE", "/v1/users/{id}/ban", scope: .moderationWrite,
            answer: { [unowned self] (call) async throws(Refusal) in
                let scope = try call.decoded { (_) throws(DecodingFailure) in try BanQuery.scope(call.request.query) }
                try await unban(call.ids[0], scope)
                return .done
            })
        registry.route(
            "GET", "/v1/bans", scope: .moderationRead,
            answer: { [unowned self] (call) async throws(Refusal) in try await list(call) })
    }

    // MARK: Changes

    func ban(_ user: UserID, _ request: BanRequest) async throws(Refusal) -> BanRow {
        let (limit, reason) = (request.until ?? Ban.noEnd, Ban.encoded(request.reason))
        let call: ScriptCall
        switch request.scope {
        case .all:
            let keys = shard.partitions.keys(of: user)
            call = ScriptCall(
                .ban, in: keys,
                [
                    "user": keys.user(user), "sessions": keys.sessions(user), "bans": keys.bans,
                    "past": shard.past.key(of: user, in: keys, or: keys.user(user)),
                    "unfinished": keys.unfinished, "asked": keys.asked(user),
                ],
                [
                    "id": user, "limit": limit, "reason": reason, "bounds": shard.past.bounds,
                    "asking": ContactRequests.asking(user),
                ])
        case .conversation(let id):
            let keys = shard.partitions.keys(of: id)
            call = ScriptCall(
                .banMember, in: keys, ["conversation": keys.conversation(id), "bans": keys.bans],
                ["conversation": id, "user": user, "limit": limit, "reason": reason, "most": Self.mostInConversation])
        }
        let reply = try await shard.run(call).accepted(or: BanRefusal.self)
        if request.scope == .all { shard.feature(ContactRequests.self)?.asking.begin(user) }
        return BanRow(
            user: user, scope: request.scope, reason: request.reason, until: request.until, at: reply[0].int ?? 0)
    }

    func unban(_ user: UserID, _ scope: BanScope) async throws(Refusal) {
        switch scope {
        case .all:
            let keys = shard.partitions.keys(of: user)
            _ = try await shard.run(
                ScriptCall(.unban, in: keys, ["user": keys.user(user), "bans": keys.bans], ["user": user]))
        case .conversation(let id):
            let keys = shard.partitions.keys(of: id)
            _ = try await shard.run(
                ScriptCall(
                    .unbanMember, in: keys, ["conversation": keys.conversation(id), "bans": keys.bans],
                    ["conversation": id, "user": user]))
        }
    }

    // MARK: The list

    /// The partitions in their order, each with its bans by user.
    private func list(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let count = shard.partitions.count
        let query = try call.decoded { (_) throws(DecodingFailure) in
            try BanQuery(call.request.query, partitions: count)
        }
        var rows: [(partition: Int, entry: String)] = []
        var first = query.after.partition
        // One more than asked for shows whether there is a next page.
        while rows.count <= query.limit, first < count {
            let page = Page()
            let places = Array(first..<min(first + Self.window, count))
            await shard.tasks.each(places, window: Self.window) { [self] place in
                let after = place == query.after.partition ? query.after.entry : ""
                do throws(Refusal) {
                    page.entries[place] = try await entries(of: place, after: after, limit: query.limit + 1)
                } catch {
                    page.refusal = error
                }
            }
            if let refusal = page.refusal { throw refusal }
            for place in places { rows += (page.entries[place] ?? []).map { (place, $0) } }
            first += Self.window
        }
        var json = Array(#"{"bans":["#.utf8)
        let shown = rows.prefix(query.limit)
        let bans = shown.compactMap { BanRow($0.entry)?.json }
        json += Array(bans.joined(separator: [UInt8(ascii: ",")])) + [UInt8(ascii: "]")]
        if rows.count > shown.count, let last = shown.last {
            JSONWriter.member("next", BanQuery.cursor(last.partition, last.entry), to: &json)
        }
        return .json(200, json + [UInt8(ascii: "}")])
    }

    private final class Page {
        var entries: [Int: [String]] = [:]
        var refusal: Refusal?
    }

    private func entries(of partition: Int, after: String, limit: Int) async throws(Refusal) -> [String] {
        let keys = shard.partitions.keys(partition)
        let call = ScriptCall(.bans, in: keys, ["bans": keys.bans], ["after": after, "limit": limit])
        return try await shard.run(call).rest.compactMap(\.string)
    }
}

/// A ban, as the list has it.
struct BanRow {
    let user: UserID
    let scope: BanScope
    let reason: String
    let until: Timestamp?
    let at: Timestamp

    init(user: UserID, scope: BanScope, reason: String, until: Timestamp?, at: Timestamp) {
        (self.user, self.scope, self.reason, self.until, self.at) = (user, scope, reason, until, at)
    }

    /// An entry of the store; `nil` for one that no script has written.
    init?(_ entry: String) {
        let words = entry.split(separator: " ").map(String.init)
        guard words.count == 5, let user = UserID(words[0]), let scope = try? BanScope(words[1]),
            let ban = Ban(words[2], words[4]), let at = Timestamp(words[3])
        else { return nil }
        self.init(user: user, scope: scope, reason: ban.reason, until: ban.until, at: at)
    }

    var json: [UInt8] {
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(user.string, to: &json)
        JSONWriter.member("scope", "\(scope)", to: &json)
        JSONWriter.member("reason", reason, to: &json)
        if let until { JSONWriter.member("until", until, to: &json) }
        JSONWriter.member("at", at, to: &json)
        return json + [UInt8(ascii: "}")]
    }
}

/// Why a script refuses a ban.
enum BanRefusal: String, RefusalWord {
    case nowhere = "NOWHERE"
    case tooMany = "TOOMANY"

    var refusal: Refusal {
        switch self {
        case .nowhere: MessageRefusal.nowhere.refusal
        case .tooMany:
            Refusal(
                .tooMany, "at most \(Banning.mostInConversation) users are banned in one conversation", field: "scope")
        }
    }
}

extension KeyFamily {
    /// The bans of a partition's users and conversations (`Scripts/ban-lib.lua`).
    static let bans = KeyFamily(name: "bans", isPassing: false, type: "zset", isOfPartition: true)
}

extension PartitionKeys {
    var bans: String { "\(name):bans" }
}

extension Script {
    private static let banLibrary = ScriptLibrary(asset_ban_lib())

    private static func banning(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: banLibrary, isAcknowledged: true)
    }

    static let ban = Script("ban", asset_ban(), library: banLibrary + askedLibrary, isAcknowledged: true)
    static let unban = banning("unban", asset_unban())
    static let banMember = banning("ban-member", asset_ban_member())
    static let unbanMember = banning("unban-member", asset_unban_member())
    static let bans = Script("bans", asset_bans())
}
