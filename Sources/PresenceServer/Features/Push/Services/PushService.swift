import Foundation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol
import Redis

/// Sends to one platform's devices.
protocol PushSender {
    /// As devices name it.
    var platform: String { get }
    /// Identifies its queue: where it sends, and as which app.
    var name: String { get }
    var url: String { get }
    /// Whether all pushes are sent to one service: while it fails, nothing is sent.
    var isOneService: Bool { get }

    /// APNs' 410 and FCM's UNREGISTERED remove the device. APNs' 400, 404, 405 and 413, and FCM's 400 and
    /// SENDER_ID_MISMATCH are refusals, which are not tried again. Every other failure is (``PushService``).
    ///
    /// - Parameters:
    ///   - id: of the push, the same at each try.
    ///   - time: Now, in ms since 1970.
    /// - Returns: `nil` if there was no call.
    func send(_ message: PushMessage, id: String, at time: Timestamp, on shard: ShardLogic) async -> DeliveryOutcome?
}

extension PushSender {
    var isOneService: Bool { true }
}

/// A push service: of each event `push.due` it gets one push for each device of its platform.
final class PushService: EventReceiver {
    private let sender: any PushSender
    private unowned let shard: ShardLogic
    private unowned let scheduler: PushScheduler
    private let removed: MetricCounter

    /// HTTP/2 where the service has it: then all pushes share one connection.
    static let client = OutgoingClient(name: "push", mostRunning: 100, userAgent: "Presence-Push")
    /// In seconds, for one push.
    static let patience = 10.0
    /// In ms, after failed tries, each a fifth more or less: six tries within an hour. An older push is useless.
    private static let pauses: [Milliseconds] = [10_000, 30_000, 120_000, 600_000, 1_800_000]
    /// ms since a push was due, after which it is not sent any more.
    static let longestAge: Milliseconds = 3_600_000
    /// ms: the longest pause that a service may ask for.
    private static let longestPause: Milliseconds = 600_000
    /// In ms: a push that was due so lately is not looked up again before its first try.
    private static let fresh: Milliseconds = 2_000
    private static let window = 8

    init(_ sender: any PushSender, _ shard: ShardLogic, _ scheduler: PushScheduler, removed: MetricCounter) {
        (self.sender, self.shard, self.scheduler, self.removed) = (sender, shard, scheduler, removed)
    }

    var id: Identifier { WebhookEndpoint.id(of: sender.name) }
    var url: String { sender.name }
    var shown: String { WebhookEndpoint.shown(sender.url) }
    var complaint: String { "push not taken" }
    var events: Set<String> { ["push.due"] }
    var mostAtATime: Int { 50 }
    /// A service limits single devices as well as all.
    var pausesForAll: Bool { false }
    var rests: Bool { sender.isOneService }
    var needsDropped: Bool { true }

    func mostWaiting(_ configuration: ServerConfiguration) -> Int64 { Int64(configuration[Push.queue]) }

    func entries(of event: OfferedEvent, body: [UInt8], partition: Int) -> [WaitingEvent] {
        let id = event.id(partition: partition)
        let messages = PushMessage.all(
            for: sender.platform, in: body, at: event.at, of: event.message ?? 0)
        return messages.enumerated().map { place, message in
            WaitingEvent(
                id: "\(id)_\(place)", entry: event.entry, at: event.at,
                subject: message.subject, body: message.body)
        }
    }

    func pause(after tries: Int, asked: Milliseconds, spread: Double) -> Milliseconds? {
        guard (1...Self.pauses.count).contains(tries) else { return nil }
        let pause = Double(Self.pauses[tries - 1]) * (1 + 0.2 * min(max(spread, -1), 1))
        return max(Milliseconds(pause), min(asked, Self.longestPause))
    }

    // MARK: Before a try

    /// Users sign out, are deleted, remove devices and read messages, and messages are edited and deleted, while pushes wait.
    func current(_ event: QueuedEvent) async throws(RedisFailure) -> QueuedEvent? {
        // A damaged one is found by `send`.
        guard let push = PushMessage(event.body),
            let place = PushPlace(user: push.user, conversation: push.conversation)
        else { return event }
        let (isFirst, token) = (event.tries == 0, Self.json(push.pushToken, of: sender.platform))
        guard let facts = try await scheduler.facts(of: place, token: token, platform: sender.platform),
            facts.isRegistered
        else { return nil }
        // A time in the future is from before Redis' clock went back.
        if isFirst, abs(shard.clock.redisNow - push.at) <= Self.fresh { return event }
        if try await scheduler.hold(push, at: place, facts) { return nil }
        let new = try await shard.sparing("push", of: place.user) { () async throws(RedisFailure) in
            place.notification == nil && !place.isSummary
                ? try await renewed(push, isFirst: isFirst, place, facts)
                : try await scheduler.isPending(push, at: place, facts)
                    ? PushContents(shard: shard, user: place.user, settings: facts.settings).withoutTexts(push) : nil
        }
        guard let new else { return nil }
        var current = event
        if new != push { current.body = new.body }
        return current
    }

    /// A push that had to wait has its message as it is now; at another try it has the newest unread message. `nil` if its message was
    /// read or deleted, if the user is no longer in the conversation, if all unread messages are deleted, or if another push was sent or
    /// decided instead.
    private func renewed(
        _ push: PushMessage, isFirst: Bool, _ place: PushPlace, _ facts: PushFacts
    ) async throws(RedisFailure) -> PushMessage? {
        // Where no push counts, a new device waits for the next message: until there is one, this is tried.
        guard facts.lastPushed == 0 ? !facts.isDue && !facts.isHeld : facts.lastPushedAt == push.at,
            let record = try await scheduler.read(place.conversation), let member = record.member(place.user)
        else { return nil }
        if !scheduler.isUnread(push.seq, by: member) {
            // Messages until the user read it counted as pushed by this push, which is given up now.
            try await scheduler.enqueue(record.last, in: record, for: member)
            return nil
        }
        var message = try await scheduler.newestUnread(
            by: member, in: record, except: facts.blocked, upTo: isFirst ? push.seq : nil)
        if (message?.seq ?? 0) < push.seq {
            // It is deleted, or from a user who is blocked by now.
            if try await scheduler.isDeleted(push.seq, in: record.id) {
                // Before this push is given up: then nothing would show that there is something to decide.
                try await scheduler.withdraw(push.seq, in: record.id, of: place.user)
                return nil
            }
            if isFirst { message = try await scheduler.newestUnread(by: member, in: record, except: facts.blocked) }
        }
        guard let message, facts.settings.wants(record) else { return nil }
        return try await PushContents(shard: shard, user: place.user, settings: facts.settings).renew(
            push, with: message, in: record)
    }

    // MARK: A try

    func send(_ event: QueuedEvent, at time: Timestamp) async -> DeliveryOutcome? {
        guard let message = PushMessage(event.body) else { return .refused("damaged record") }
        if time - message.at > Self.longestAge { return .refused("too late") }
        return await sender.send(message, id: event.id, at: time, on: shard)
    }

    /// Calls a service.
    static func call(
        _ url: String, _ headers: [(name: String, value: String)], _ body: [UInt8], _ tls: OutgoingTLS,
        outcome: (OutgoingResponse) -> DeliveryOutcome
    ) async -> DeliveryOutcome {
        var request = OutgoingRequest("POST", url, body: body)
        request.headers = [("content-type", "application/json")] + headers
        request.limits.total = patience
        (request.tls, request.offersHTTP2) = (tls, true)
        do throws(OutgoingFailure) {
            return outcome(try await client.send(request))
        } catch {
            return .failed(error.reason, retryAfter: 0)
        }
    }

    /// The same value is the same text.
    static func json(_ object: [String: Any]) -> [UInt8] {
        // Texts and numbers always have JSON.
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        return (try? JSONSerialization.data(withJSONObject: object, options: options)).map { Array($0) } ?? []
    }

    /// A try that failed; a longer pause than a service may ask for is cut.
    static func failed(_ reason: String, _ response: OutgoingResponse) -> DeliveryOutcome {
        .failed(reason, retryAfter: min(RetrySchedule.asked(response["retry-after"]), longestPause))
    }

    /// A status and a word of the service's own for logs, if that has letters and underscores alone.
    static func reason(_ status: Int, _ word: String?) -> String {
        guard let word, (1...60).contains(word.utf8.count),
            word.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F })
        else { return "status \(status)" }
        return "status \(status) \(word)"
    }

    /// A device's token as scripts compare it. A subscription is JSON already.
    static func json(_ token: String, of platform: String) -> String {
        platform == WebPush.platform ? token : JSONWriter.encoded(token)
    }

    // MARK: After a try

    /// A push that no device gets counts for nothing: the next message is pushed.
    func giveUp(_ events: [QueuedEvent], gone time: Timestamp?) async -> Bool {
        var isNoted = true
        await shard.tasks.each(events, window: Self.window) { [self] event in
            do throws(RedisFailure) { try await forget(event, gone: time) } catch { isNoted = false }
        }
        return isNoted
    }

    /// - Parameter time: As of which the service does not know the device any more.
    private func forget(_ event: QueuedEvent, gone time: Timestamp?) async throws(RedisFailure) {
        guard let message = PushMessage(event.body), let user = UserID(message.user) else { return }
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            .pushForget, in: keys, ["devices": keys.devices(user), "pushed": keys.pushed(user)],
            [
                "conversation": message.conversation, "at": message.at, "platform": sender.platform,
                "token": Self.json(message.pushToken, of: sender.platform), "gone": time,
            ])
        removed.value += Int(try await scheduler.run(call, of: user)?[0].int ?? 0)
    }
}
