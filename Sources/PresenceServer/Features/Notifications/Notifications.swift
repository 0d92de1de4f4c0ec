import CAssets
import PresenceCore
import PresenceProtocol
import Redis

/// Users' notifications, and which of them the user has seen, read and archived.
///
/// A user's notifications are in the user's partition, and one script makes each change there. The script computes the counts
/// from what is stored, and gives the counts its version: two devices with the same version show the same counts.
final class Notifications: Feature {
    static let plan = FeaturePlan(
        name: "notifications", scripts: Script.notificationScripts, keys: [.notifications, .notificationMarks],
        settings: settings)

    unowned let shard: ShardLogic
    let inboxes: NotificationInboxes
    /// The number of notifying requests in progress.
    var underWay = 0
    var stored: MetricCounter!
    var repeated: MetricCounter!
    var refused: MetricCounter!

    init(_ shard: ShardLogic) {
        self.shard = shard
        inboxes = NotificationInboxes(shard)
    }

    func register(in registry: inout Registry) {
        inboxes.register(in: &registry)
        stored = registry.counter("notifications_total", help: "notifications stored, one for each user")
        repeated = registry.counter(
            "notifications_repeated_total", help: "notifications that their user had already")
        refused = registry.counter(
            "notifications_refused_total",
            help: "requests that notify, refused because as many were under way as may be")
        registry.gauge("notification_calls", help: "requests that notify and are under way") {
            [unowned self] in underWay
        }
        registry.request(
            "markNotifications", price: { RequestPrice.ids($0.read.count + $0.archived.count) },
            decode: { (members, _) throws(DecodingFailure) in try NotificationRequest.marks(members) },
            answer: { [unowned self] in try await mark($0, $1) })
        registry.request(
            "getNotifications", order: .question, price: { RequestPrice.ids(Int($0.limit)) }, mayBeLong: { _ in true },
            decode: { (members, _) throws(DecodingFailure) in try NotificationRequest.page(members) },
            answer: { [unowned self] in try await get($0, $1) })
        registerRoutes(in: &registry)
        if shard.configuration[Self.ofMessages] { notifyOfMessages() }
    }

    func readAgain() async throws(RedisFailure) { try await inboxes.readAgain() }

    private func mark(
        _ request: NotificationRequest.Marks, _ context: RequestContext
    ) async throws(Refusal) -> Answer {
        let (user, keys) = (context.user, shard.partitions.keys(of: context.user))
        let call = ScriptCall(
            .markNotifications, in: keys, keys.inboxOfNotifications(user),
            [
                "user": user, "keep": shard.configuration[Self.keep], "keepFor": shard.configuration[Self.keepFor],
                "sessionID": context.session.id, "seenTo": request.seen, "reads": request.read.count,
            ], each: request.read + request.archived, by: context.writer)
        let reply: ScriptReply
        do throws(Refusal) {
            reply = try await shard.run(call)
        } catch {
            // The event of the change was not written to this connection, because the connection requested the change.
            if error.message.outcomeUnknown { inboxes.doubt(context.connection) }
            throw error
        }
        guard let counts = NotificationCounts(reply.rest) else { throw damage(of: user) }
        return .message(NotificationMessage.counts(counts, id: context.id))
    }

    private func get(_ page: NotificationRequest.Page, _ context: RequestContext) async throws(Refusal) -> Answer {
        let before = min(page.before, 1 << 52)
        let call = inboxes.reading(of: context.user, count: page.limit, before: before)
        let reply = try await shard.run(call, changes: false)
        guard let reading = NotificationReading(reply) else { throw damage(of: context.user) }
        let limit = shard.configuration.limits.maxServerMessageBytes
        return .message(NotificationMessage.page(reading, id: context.id, limit: limit))
    }

    private func damage(of user: UserID) -> Refusal {
        shard.recordDamage("notifications", of: user)
        return Refusal(.damagedRecord())
    }
}

extension Notifications {
    static let keep = Setting<Int>(
        "notifications.keep", 200, in: 1...500,
        about: "How many notifications of a user are kept; the oldest are removed. One takes the size of its text and "
            + "data, and some 100 bytes of Redis' memory. As many ids of replaced and archived ones are remembered.")
    static let keepFor = Setting<Milliseconds>(
        "notifications.keepFor", 30 * 24 * 3_600_000, in: 60_000...366 * 24 * 3_600_000,
        about: "How long notifications are kept. Afterwards an id counts as new again.")
    /// The most users whom one request may notify. More users would take longer, and wait for each other.
    static let recipients = 1_000
    static let calls = Setting<Int>(
        "notifications.calls", 16, in: 1...1_000,
        about: "How many requests that notify run at a time on one shard; more of them are answered 503. Each has up "
            + "to 8 scripts pending in Redis.")

    static let ofMessages = Setting<Bool>(
        "notifications.ofMessages", false,
        about: "Whether users who are truly away get notifications of messages, one for each conversation. The server "
            + "decides who is away as for pushes, even without pushes.")

    static let settings: [any AnySetting] = [keep, keepFor, calls, ofMessages]
}

/// The scripts of this folder's feature.
extension Script {
    private static let notificationLibrary = ScriptLibrary(
        asset_account_lib(), asset_push_lib(), asset_notification_lib())

    private static func notification(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: notificationLibrary, isAcknowledged: true)
    }

    static let notify = notification("notify", asset_notify())
    static let markNotifications = notification("mark-notifications", asset_mark_notifications())
    static let readNotifications = notification("notifications", asset_notifications())

    static let notificationScripts: [Script] = [.notify, .markNotifications, .readNotifications]
}

extension KeyFamily {
    /// A user's notifications. They expire together with the newest one.
    static let notifications = KeyFamily(name: "notifications", isPassing: false, type: "hash")
    /// Numbers that outlive the notifications: each seq is assigned once.
    static let notificationMarks = KeyFamily(name: "notificationMarks", isPassing: false, type: "hash")
}

extension PartitionKeys {
    func notifications(_ id: UserID) -> String { key(.notifications, id) }
    func notificationMarks(_ id: UserID) -> String { key(.notificationMarks, id) }
    /// The keys of both, by the names that scripts use.
    func inboxOfNotifications(_ id: UserID) -> KeyValuePairs<StaticString, String> {
        ["notifications": notifications(id), "notificationMarks": notificationMarks(id)]
    }
}
