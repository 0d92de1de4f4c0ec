import PresenceCore
import PresenceProtocol
import Redis

/// What backends notify users of, and what of it they have seen, read and archived.
///
/// A user's notifications lie in their partition, and one script makes each change there. Counts are computed from what is
/// stored, by the script that changed it, and have its version: two devices that know the same version show the same.
final class Notifications: Feature {
    static let plan = FeaturePlan(
        name: "notifications", scripts: Script.notificationScripts, keys: [.notifications, .notificationMarks],
        settings: settings)

    unowned let shard: ShardLogic
    let inboxes: NotificationInboxes
    /// Requests that notify and are under way.
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
            decode: { (members, _) throws(DecodingFailure) in try NotificationRequest.marks(members) }
        ) { [unowned self] in mark($0, $1) }
        registry.request(
            "getNotifications", order: .question, price: { RequestPrice.ids(Int($0.limit)) }, mayBeLong: { _ in true },
            decode: { (members, _) throws(DecodingFailure) in try NotificationRequest.page(members) }
        ) { [unowned self] in get($0, $1) }
        registerRoutes(in: &registry)
        if shard.configuration[Self.ofMessages] { notifyOfMessages() }
    }

    func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void) {
        guard case .reload = step else { return done(nil) }
        inboxes.reload(done: done)
    }

    func sessionEnded(_ session: Session) { inboxes.ended(session) }

    private func mark(_ request: NotificationRequest.Marks, _ context: RequestContext) {
        let (user, keys) = (context.user, shard.partitions.keys(of: context.user))
        shard.write(context.connection, context.id) { [unowned self] done in
            shard.store.run(
                .markNotifications,
                keys: [keys.shards, keys.floor, keys.notifications(user), keys.notificationMarks(user)]
                    + context.writer.keys,
                arguments: [
                    keys.events, shard.link.incarnation, user.string, String(shard.configuration[Self.keep]),
                    String(shard.configuration[Self.keepFor]), context.session.id, String(request.seen),
                    String(request.read.count),
                ] + (request.read + request.archived).map { String($0) }, lane: .commands
            ) { [unowned self] result in
                if case .failure = result { inboxes.doubt(context.connection) }
                done(result)
            }
        } succeeded: { [unowned shard] words in
            guard let counts = NotificationCounts(words.dropFirst()) else {
                shard.noteDamage("notifications", of: user)
                return shard.replies.error(.damagedRecord(context.id), to: context.connection)
            }
            shard.replies.send(NotificationMessage.counts(counts, id: context.id), to: context.connection)
        }
    }

    private func get(_ page: NotificationRequest.Page, _ context: RequestContext) {
        shard.write(context.connection, context.id, changes: false) { [unowned self] done in
            inboxes.read(page, of: context.user, reply: done)
        } succeeded: { [unowned shard] words in
            guard let reading = NotificationReading(.array(words)) else {
                shard.noteDamage("notifications", of: context.user)
                return shard.replies.error(.damagedRecord(context.id), to: context.connection)
            }
            let limit = shard.configuration.limits.maxServerMessageBytes
            shard.replies.send(NotificationMessage.page(reading, id: context.id, limit: limit), to: context.connection)
        }
    }
}
