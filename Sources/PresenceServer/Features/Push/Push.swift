import Installation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Finds out who is truly away when a message comes for them, and has their devices told: by FCM and APNs, and by a sender of
/// the operator's own, which hears of it by webhook.
///
///     message.created ─▶ DuePushes: noted, due, decided ─▶ offer push.due ─▶ Courier ─▶ endpoints of webhooks
///                                                                                  └─▶ PushService: FCM, APNs, one for each device
///
/// It is decided once for each user and conversation, until they have read it: at once if they have no session, otherwise after
/// ``DuePushes/wait``, in which they may read it, or a device of theirs mark it delivered while they are active. What is noted
/// is in Redis, so it falls due whatever dies meanwhile. Where nobody pushes, nothing is noted; devices are registered all the
/// same, for when somebody does.
final class Push: Feature {
    /// A thread for each service.
    static let pool = WorkerPlan(
        "push", threads: PushServices.count, queue: { _ in 64 }, hasLowPriority: true)
    static let plan = FeaturePlan(
        name: "push", isOptional: false, scripts: Script.push, keys: KeyFamily.pushes, settings: settings,
        pools: [pool], needsOffers: isOn, check: Push.check)

    private unowned let shard: ShardLogic
    let due: DuePushes?
    private var removed: MetricCounter!
    /// Whether APNs is told: then its devices must have tokens of its kind.
    private let hasAPNs: Bool
    private static let mostTokenBytes = 1_024

    init(_ shard: ShardLogic) {
        self.shard = shard
        due = Self.isOn(shard.configuration) ? DuePushes(shard) : nil
        hasAPNs = !shard.configuration[Push.apnsFile].isEmpty
    }

    /// Whether somebody wants to know who is away: FCM, APNs, a sender of the operator's own, or users' lists of notifications.
    private static func isOn(_ configuration: ServerConfiguration) -> Bool {
        PushServices.count(configuration) > 0 || WebhookEndpoint.isTold(of: "push.due", in: configuration)
            || configuration[Notifications.ofMessages]
    }

    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        if PushServices.count(configuration) > 0 { _ = try PushServices.all(configuration) }
    }

    func register(in registry: inout Registry) {
        if let due, let courier = shard.feature(Webhooks.self)?.courier {
            due.register(in: &registry, courier)
            registerServices(in: &registry, courier, due)
        }
        let limits = RouteLimits(bodyBytes: 16_384)
        registry.route("PUT", "/v1/me/devices/current", for: .users, limits: limits) {
            [unowned self] (call) throws(DecodingFailure) in
            try register(call)
        }
        registry.route("DELETE", "/v1/me/devices/current", for: .users, limits: limits) { [unowned self] call in
            set("", "", call)
        }
    }

    // MARK: Services

    private func registerServices(in registry: inout Registry, _ courier: Courier, _ due: DuePushes) {
        // The files were read before, by `check`.
        let senders = (try? PushServices.all(shard.configuration)) ?? []
        guard !senders.isEmpty else { return }
        let counters = QueueCounters(
            sent: registry.counter("pushes_sent_total", help: "pushes that FCM or APNs has taken"),
            failed: registry.counter("push_failures_total", help: "tries to hand a push to FCM or APNs that failed"),
            givenUp: registry.counter(
                "pushes_given_up_total", help: "pushes that FCM or APNs refused, or did not take within an hour"),
            dropped: registry.counter(
                "pushes_dropped_total", help: "pushes that no device will get because too many waited"))
        removed = registry.counter(
            "push_devices_removed_total", help: "devices that FCM or APNs said are not registered any more")
        due.platforms = senders.map(\.platform)
        let queues = courier.add(senders.map { PushService(sender: $0) }, counters)
        registry.gauge("pushes_queued", help: "pushes that wait for FCM or APNs, on the server that sends them") {
            queues.reduce(0) { $0 + $1.waiting }
        }
        for (queue, sender) in zip(queues, senders) {
            queue.onGone = { [unowned self] in drop($0, of: sender.platform, as: $1) }
            let targets = PushTargets(shard, due, platform: sender.platform)
            queue.onGivenUp = { [unowned self] in missed($0, on: sender.platform, done: $1) }
            queue.check = { targets.check($0, done: $1) }
            guard let apns = sender as? APNs else { continue }
            let keeper = ProviderTokenKeeper(shard, apns.tokens)
            queue.prepare = { keeper.prepare($0) }
        }
    }

    /// The service does not know a device any more, as of `time`. One that has been registered since then stays. If this cannot
    /// be written now, the next push for it will say so again.
    private func drop(_ event: QueuedWebhook, of platform: String, as time: Timestamp) {
        guard let target = PushTarget(event), let user = UserID(target.user) else { return }
        let keys = shard.partitions.keys(of: user)
        var token: [UInt8] = []
        JSONWriter.string(target.token, to: &token)
        shard.store.run(
            .dropDevice, keys: [keys.shards, keys.devices(user)],
            arguments: [
                keys.events, shard.link.incarnation, platform, String(decoding: token, as: UTF8.self), String(time),
            ], lane: .commands
        ) { [self] result in
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result else { return }
            removed.value += Int(value.array?.last?.int ?? 0)
        }
    }

    /// Devices do not get pushes: where none does, the next message is told again.
    ///
    /// - Parameter done: Gets whether that is written.
    private func missed(_ events: [QueuedWebhook], on platform: String, done: @escaping (Bool) -> Void) {
        var failed = false
        BoundedConcurrency(events.compactMap { PushMessage($0.body) }, window: DuePushes.window) {
            [self] message, next in
            // What an earlier version has queued says nothing of when.
            guard let user = UserID(message.user), let at = message.at else { return next() }
            let keys = shard.partitions.keys(of: user)
            var token: [UInt8] = []
            JSONWriter.string(message.pushToken, to: &token)
            shard.store.run(
                .pushMissed, keys: [keys.shards, keys.pushed(user)],
                arguments: [
                    keys.events, shard.link.incarnation, message.conversation, String(at), platform,
                    String(decoding: token, as: UTF8.self),
                ], lane: .commands
            ) { [self] result in
                if result.failure?.isLasting == true {
                    // Then nothing holds the next message back.
                    shard.noteDamage("push", of: user)
                } else if shard.link.noticeFencing(in: result) || result.failure != nil {
                    failed = true
                }
                next()
            }
        } done: {
            done(!failed)
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
        guard !hasAPNs || platform != "apns" || APNs.isToken(token) else {
            throw DecodingFailure.invalid("pushToken", "must be the token of APNs in hexadecimal")
        }
        var json: [UInt8] = []
        JSONWriter.string(token, to: &json)
        set(platform, String(decoding: json, as: UTF8.self), call)
    }

    /// - Parameters:
    ///   - platform: empty to remove it.
    ///   - token: as JSON.
    private func set(_ platform: String, _ token: String, _ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        let keys = shard.partitions.keys(of: user)
        let device = call.grant.map { "g:\($0.string)" } ?? "-"
        call.write { [self] in
            shard.store.run(
                .setDevice,
                keys: [keys.shards, keys.devices(user), keys.grants(user), keys.user(user), keys.pushed(user)]
                    + call.writer.keys,
                arguments: [keys.events, shard.link.incarnation, device, platform, token],
                lane: .commands, reply: $0)
        } succeeded: { _ in
            .done
        }
    }
}
