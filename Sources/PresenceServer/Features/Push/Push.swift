import Installation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Says who is truly away when a message comes for them, with where they can be pushed to: the event `push.due` of webhooks.
///
/// It is decided once for each user and conversation, until they have read it: at once if they have no session, otherwise after
/// ``DuePushes/wait``, in which a device of theirs may mark the message delivered. What is noted is in Redis, so it falls due
/// whatever dies meanwhile.
final class Push: Feature {
    static let plan = FeaturePlan(
        name: "push", isOptional: false, scripts: Script.push, keys: KeyFamily.pushes, settings: [.pushEnabled],
        check: Push.check)

    private unowned let shard: ShardLogic
    private let due: DuePushes?
    private static let mostTokenBytes = 4_096

    init(_ shard: ShardLogic) {
        self.shard = shard
        due = shard.configuration.isOn(.pushEnabled) ? DuePushes(shard) : nil
    }

    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        guard configuration.isOn(.pushEnabled) else { return }
        guard try WebhookEndpoint.all(configuration).contains(where: { $0.events.contains("push.due") }) else {
            throw InvalidConfiguration(
                key: FeatureSetting.pushEnabled.key, reason: "needs an endpoint in webhooks that is told of push.due")
        }
    }

    func register(in registry: inout Registry) {
        guard let due else { return }
        if let courier = shard.feature(Webhooks.self)?.courier { due.register(in: &registry, courier) }
        let limits = RouteLimits(bodyBytes: 8_192)
        registry.route("PUT", "/v1/me/devices/current", for: .users, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try register(call)
        }
        registry.route("DELETE", "/v1/me/devices/current", for: .users, limits: limits) { [unowned self] call in
            set("", call)
        }
    }

    // MARK: Devices

    private func register(_ call: HTTPCall) throws(DecodingFailure) {
        let body = try RequestObject(json: call.body)
        let (token, platform) = (try body.text("pushToken"), try body.text("platform"))
        guard ["fcm", "apns"].contains(platform) else {
            throw DecodingFailure.invalid("platform", "must be fcm or apns")
        }
        guard (1...Self.mostTokenBytes).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw DecodingFailure.invalid(
                "pushToken", "must be 1 to \(Self.mostTokenBytes) printable ASCII characters without spaces")
        }
        var value = Array((platform + " ").utf8)
        JSONWriter.string(token, to: &value)
        set(String(decoding: value, as: UTF8.self), call)
    }

    /// - Parameter value: empty to remove it.
    private func set(_ value: String, _ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        let keys = shard.partitions.keys(of: user)
        let device = call.grant.map { "g:\($0.string)" } ?? "-"
        call.write { [self] in
            shard.store.run(
                .setDevice, keys: [keys.shards, keys.devices(user), keys.grants(user)],
                arguments: [keys.events, shard.link.incarnation, device, value],
                lane: .commands, reply: $0)
        } succeeded: { _ in
            .done
        }
    }
}
