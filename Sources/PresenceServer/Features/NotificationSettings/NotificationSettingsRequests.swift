import CAssets
import Installation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET` and `PUT /v1/me/notificationSettings`: what a user wishes of notifications and pushes, on all devices. `notify.lua` and `Push`
/// heed it.
final class NotificationSettingsRequests: Feature {
    static let kinds = Setting<[String]>(
        "notifications.kinds", [], columns: ["kind", "name?"],
        about:
            "The kinds of your notifications that users can switch off, in the order in which apps show them: kind, as "
            + "your backend sends it, and its name for people.")

    static let plan = FeaturePlan(
        name: "notificationSettings", isOptional: false, scripts: [.setNotificationSettings],
        settings: [kinds],
        check: { (configuration) throws(InvalidConfiguration) in _ = try NotificationKind.all(configuration) },
        warnings: { _ in
            Zones.exist
                ? [] : ["no data of time zones in \(Zones.folder) (tzdata): users cannot set quiet hours"]
        })

    /// A user may set them 20 times, then once in 10 s, on each shard: each change is up to 16 KB, for all devices.
    private static let rate = RateLimit(every: 10_000, burst: 20)

    private unowned let shard: ShardLogic
    /// Each user's changes. A client reads the settings when it has connected, so nothing is sent then.
    private let own: OwnState
    let zones: Zones
    /// For `GET /v1/server`.
    private let kinds: [NotificationKind]

    init(_ shard: ShardLogic) {
        self.shard = shard
        own = OwnState(shard, "notification settings") { _ in nil }
        zones = Zones(shard)
        // `check` has read them before.
        kinds = (try? NotificationKind.all(shard.configuration)) ?? []
    }

    func register(in registry: inout Registry) {
        own.register(in: &registry)
        registry.event("n", offers: true) { [unowned self] event in
            guard let user = event.subject, shard.sessions.users[user] != nil else { return }
            let text = String(decoding: event.rest, as: UTF8.self)
            let json =
                Array(#"{"type":"ownNotificationSettings","settings":"#.utf8)
                + NotificationSettings.object(stored: text, version: event.version) + [UInt8(ascii: "}")]
            own.changed(to: OwnState.Held(version: event.version, frame: WebSocketFrame.text(json)), of: user)
        }
        registry.route(
            "GET", "/v1/me/notificationSettings", for: .users,
            answer: { [unowned self] (call) async throws(Refusal) in
                .json(200, try await settings(of: try call.owner()).json)
            })
        registry.route(
            "PUT", "/v1/me/notificationSettings", for: .users, limits: RouteLimits(bodyBytes: 32_768, rate: Self.rate),
            answer: { [unowned self] (call) async throws(Refusal) in try await set(call) })
    }

    /// The object that clients get, and whether the user has set anything.
    func settings(of user: UserID) async throws(Refusal) -> (json: [UInt8], areSet: Bool) {
        let key = shard.partitions.keys(of: user).user(user)
        let held = try await shard.run("HMGET", key, "notify", "notifyVersion").array ?? []
        let version = held.last?.string.flatMap { Int64($0) } ?? 0
        return (NotificationSettings.object(stored: held.first?.string ?? "", version: version), version > 0)
    }

    private func set(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        let settings = try call.decoded { (body) throws(DecodingFailure) in try NotificationSettings(body) }
        if let name = settings.quiet?.timezone, try await zones.rules(of: name) == nil {
            let rule =
                Zones.exist
                ? "must be the name of a time zone, such as Europe/Paris"
                : "cannot be used: this server has no data of time zones (tzdata)"
            throw Refusal(.invalid("timezone", rule).inside("quiet"))
        }
        let keys = shard.partitions.keys(of: user)
        let text = settings.stored
        let reply = try await shard.run(
            ScriptCall(
                .setNotificationSettings, in: keys, ["user": keys.user(user)],
                ["user": user, "settings": text], by: call.writer))
        guard let version = reply[0].string.flatMap({ Int64($0) }) else { throw shard.damaged(user) }
        return .json(200, NotificationSettings.object(stored: text, version: version))
    }

    /// The member of `GET /v1/server`.
    var announced: [UInt8] {
        var json = Array(#"{"kinds":["#.utf8)
        for (place, kind) in kinds.enumerated() {
            json += Array((place > 0 ? "," : "").utf8)
            json += Array(
                #"{"kind":\#(JSONWriter.encoded(kind.kind)),"name":\#(JSONWriter.encoded(kind.name))}"#.utf8)
        }
        return json + Array(#"],"quietHours":\#(Zones.exist)}"#.utf8)
    }
}

extension Script {
    static let setNotificationSettings = Script(
        "set-notification-settings", asset_set_notification_settings(), isAcknowledged: true)
}
