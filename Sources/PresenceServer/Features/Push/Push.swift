import Installation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Finds users who are truly away when a message arrives for them, and has it pushed to their devices: by FCM, APNs and Web Push, and by a
/// sender of the operator's own, which receives a webhook.
///
///     message.created ─▶ PushScheduler: enqueued, due, decided ─▶ offer push.due ─▶ Courier ─▶ endpoints of webhooks
///                                                                                  └─▶ PushService: FCM, APNs, Web Push, one for each device
///
/// It is decided once for each user and conversation, until they have read it: at once if they have no session, otherwise after
/// ``PushScheduler/wait``, in which they may read it, or a device of theirs mark it delivered while they are active. The schedule is in
/// Redis, so pushes fall due whatever dies meanwhile. Without any receiver of pushes nothing is scheduled; devices are registered all
/// the same, for later.
final class Push: Feature {
    static let plan = FeaturePlan(
        name: "push", isOptional: false, scripts: Script.push, keys: KeyFamily.pushes, settings: settings,
        needsOffers: isOn, check: Push.check)

    private unowned let shard: ShardLogic
    let due: PushScheduler?
    /// `nil` if nothing is pushed to browsers.
    private let keys: VAPIDKeys?
    /// Whether APNs is a receiver: then its devices must have tokens of its kind.
    private let hasAPNs: Bool
    let hasReceivers: Bool
    private static let mostTokenBytes = 1_024
    /// A user may register 60 devices, then one in 10 s, on each shard: a new one reads all of the user's last pushes.
    private static let rate = RateLimit(every: 10_000, burst: 60)

    init(_ shard: ShardLogic) {
        self.shard = shard
        due = Self.isOn(shard.configuration) ? PushScheduler(shard) : nil
        keys = WebPush.isOn(shard.configuration) ? VAPIDKeys(shard) : nil
        hasAPNs = !shard.configuration[Push.apnsFile].isEmpty
        hasReceivers = Self.hasReceivers(shard.configuration)
    }

    /// Whether pushes have a receiver, or make users' notifications.
    private static func isOn(_ configuration: ServerConfiguration) -> Bool {
        hasReceivers(configuration) || configuration[Notifications.ofMessages]
    }

    /// Whether pushes have a receiver: a push service, or a sender of the operator's own.
    private static func hasReceivers(_ configuration: ServerConfiguration) -> Bool {
        PushServices.count(configuration) > 0 || WebhookEndpoint.isTold(of: "push.due", in: configuration)
    }

    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        try WebPush.check(configuration)
        if PushServices.count(configuration) > 0 { _ = try PushServices.all(configuration, nil) }
    }

    /// The public key with which browsers subscribe; `nil` if nothing is pushed to them, and before the first connection to
    /// Redis.
    var vapidKey: String? { keys?.current?.publicText }

    func storeAgain() async throws(RedisFailure) {
        do throws(RedisFailure) {
            try await keys?.settle()
        } catch  where error.isLasting {
            // A key of another kind in its place stays: without it nothing else is missing.
        }
    }

    func register(in registry: inout Registry) {
        if let due, let courier = shard.feature(EventDelivery.self)?.courier {
            due.register(in: &registry, courier)
            registerServices(in: &registry, courier, due)
        }
        let limits = RouteLimits(bodyBytes: 16_384)
        registry.route(
            "PUT", "/v1/me/devices/current", for: .users,
            limits: RouteLimits(bodyBytes: limits.bodyBytes, rate: Self.rate),
            answer: { [unowned self] (call) async throws(Refusal) in
                let (platform, token) = try await device(in: call)
                return try await set(platform, token, call)
            })
        registry.route(
            "DELETE", "/v1/me/devices/current", for: .users, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try await set("", "", call) })
    }

    private func registerServices(in registry: inout Registry, _ courier: Courier, _ due: PushScheduler) {
        // `check` has read the files before.
        let senders = (try? PushServices.all(shard.configuration, keys)) ?? []
        guard !senders.isEmpty else { return }
        let counters = QueueCounters(
            sent: registry.counter("pushes_sent_total", help: "pushes that a push service has taken"),
            failed: registry.counter("push_failures_total", help: "tries to hand a push to a push service that failed"),
            givenUp: registry.counter(
                "pushes_given_up_total", help: "pushes that a push service refused, or did not take within an hour"),
            dropped: registry.counter(
                "pushes_dropped_total", help: "pushes that no device will get because too many waited"))
        let removed = registry.counter(
            "push_devices_removed_total", help: "devices that a push service said are not registered any more")
        due.platforms = senders.map(\.platform)
        let queues = courier.add(senders.map { PushService($0, shard, due, removed: removed) }, counters)
        registry.gauge("pushes_queued", help: "pushes that wait for push services, on the server that sends them") {
            queues.reduce(0) { $0 + $1.waiting }
        }
    }

    // MARK: Devices

    private func device(in call: HTTPCall) async throws(Refusal) -> (platform: String, token: String) {
        if let subscription = try call.body(WebSubscription.init(device:)) {
            if keys != nil, let place = subscription.place, !WebHosts(shard.configuration).contain(place.host) {
                throw Refusal(.invalid("subscription.endpoint", "must be at a host that this server pushes to"))
            }
            // It is checked now, and not when it is pushed to.
            guard try await call.work(.signatures, { subscription.encryption != nil }) else {
                throw Refusal(
                    .invalid("subscription.keys", "must be p256dh, a point of P-256, and auth, 16 bytes, in base64url"))
            }
            return (WebPush.platform, subscription.text)
        }
        let (token, platform) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("pushToken"), try body.text("platform"))
        }
        guard ["fcm", "apns"].contains(platform) else {
            throw Refusal(.invalid("platform", "must be fcm, apns or web"))
        }
        guard (1...Self.mostTokenBytes).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Refusal(
                .invalid(
                    "pushToken", "must be 1 to \(Self.mostTokenBytes) printable ASCII characters without spaces"))
        }
        guard !hasAPNs || platform != "apns" || APNs.isToken(token) else {
            throw Refusal(.invalid("pushToken", "must be the token of APNs in hexadecimal"))
        }
        return (platform, JSONWriter.encoded(token))
    }

    /// - Parameters:
    ///   - platform: empty to remove it.
    ///   - token: as JSON.
    private func set(_ platform: String, _ token: String, _ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        let keys = shard.partitions.keys(of: user)
        let device = call.grant.map { "g:\($0.string)" } ?? "-"
        _ = try await shard.run(
            ScriptCall(
                .setDevice, in: keys,
                [
                    "devices": keys.devices(user), "grants": keys.grants(user), "user": keys.user(user),
                    "pushed": keys.pushed(user),
                ], ["device": device, "platform": platform, "token": token], by: call.writer))
        return .done
    }
}
