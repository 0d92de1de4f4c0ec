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
    /// SENDER_ID_MISMATCH are refusals, which are not tried again. Every other failure is (`RetrySchedule`).
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
    private unowned let due: DuePushes
    private let removed: MetricCounter

    /// HTTP/2 where the service has it: then all pushes share one connection.
    static let client = OutgoingClient(name: "push", mostRunning: 100, userAgent: "Presence-Push")
    /// In seconds, for one push.
    static let patience = 10.0
    /// In ms, after failed tries, each a fifth more or less: six tries within an hour. An older push is no news.
    private static let pauses: [Milliseconds] = [10_000, 30_000, 120_000, 600_000, 1_800_000]
    /// ms since a push was due, after which it is not sent any more.
    static let longestAge: Milliseconds = 3_600_000
    /// ms: the longest pause that a service may ask for.
    private static let longestPause: Milliseconds = 600_000
    /// In ms: a push that was due so lately is not looked up again before its first try.
    private static let fresh: Milliseconds = 2_000
    private static let window = 8

    init(_ sender: any PushSender, _ shard: ShardLogic, _ due: DuePushes, removed: MetricCounter) {
        (self.sender, self.shard, self.due, self.removed) = (sender, shard, due, removed)
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
            for: sender.platform, in: body, at: event.at, of: event.about.flatMap { Int64($0) })
        return messages.enumerated().map { place, message in
            WaitingEvent(
                id: "\(id)_\(place)", entry: event.entry, at: event.at,
                subject: PushTarget(user: event.subject, token: message.pushToken).subject, body: message.body)
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
        guard let target = PushTarget(event) else { return event }
        guard let user = UserID(target.user), try await isRegistered(target.token, of: user) else { return nil }
        guard hasWaited(event), let push = PushMessage(event.body), let id = ConversationID(push.conversation) else {
            return event
        }
        do throws(RedisFailure) {
            guard let renewed = try await renewed(push, isFirst: event.tries == 0, for: user, in: id) else {
                return nil
            }
            var current = event
            if renewed != push { current.body = renewed.body }
            return current
        } catch {
            guard error.isLasting else { throw error }
            shard.recordDamage("push", of: user)
            return nil
        }
    }

    private func isRegistered(_ token: String, of user: UserID) async throws(RedisFailure) -> Bool {
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            .pushCheck, in: nil,
            ["devices": keys.devices(user), "grants": keys.grants(user), "user": keys.user(user)],
            [
                "platform": sender.platform, "idle": shard.configuration[Accounts.idle],
                "token": PushTarget.json(token, of: sender.platform),
            ])
        do throws(RedisFailure) {
            return try await shard.reply(to: call).word == "1"
        } catch {
            guard error.isLasting else { throw due.complaint(of: shard.partitions.index(of: user), error) }
            // No device can be found that may be pushed to.
            shard.recordDamage("push", of: user)
            return false
        }
    }

    /// Whether something may have changed since the push was due: at another try, or if it had to wait for others.
    private func hasWaited(_ event: QueuedEvent) -> Bool {
        guard event.tries == 0 else { return true }
        guard let at = PushMessage.at(in: event.body) else { return false }
        // A time in the future is from before Redis' clock went back.
        return abs(shard.clock.redisNow - at) > Self.fresh
    }

    /// A push that had to wait has its message as it is now; at another try it has the newest unread message. `nil` if its message was
    /// read or deleted, if the user is no longer in the conversation, if all unread messages are deleted, or if another push was sent or
    /// decided instead.
    private func renewed(
        _ push: PushMessage, isFirst: Bool, for user: UserID, in id: ConversationID
    ) async throws(RedisFailure) -> PushMessage? {
        let pushed = shard.partitions.keys(of: user).pushed(user)
        let words = try await shard.command(["HMGET", pushed, id.string, " " + id.string]).array ?? []
        guard words.count == 2 else { return nil }
        let told = words[0].string?.split(separator: " ").prefix(2).compactMap { Int64($0) } ?? []
        // Where no push counts, a new device waits for the next message: until there is one, this is tried.
        let isOver = told.count == 2 ? told[1] != push.at : words[1].bytes != nil
        guard !isOver || push.at == nil else { return nil }
        let seq = told.first ?? push.seq
        guard let record = try await due.read(id), let member = record.member(user) else { return nil }
        if let seq, !due.isUnread(seq, by: member) {
            // Messages until the user read it counted as pushed by this push, which is given up now.
            try await due.noteNewest(of: record, for: member)
            return nil
        }
        var message = try await due.newestUnread(by: member, in: record, upTo: isFirst ? seq : nil)
        if let seq, (message?.seq ?? 0) < seq {
            // It is deleted, or from a user who is blocked by now.
            if try await due.isDeleted(seq, in: id) {
                // Before this push is given up: then nothing would show that there is something to decide.
                try await due.withdraw(seq, in: record, of: user)
                return nil
            }
            if isFirst { message = try await due.newestUnread(by: member, in: record) }
        }
        guard let message else { return nil }
        return try await PushContents(shard: shard).renew(push, with: message, in: record, for: user)
    }

    // MARK: A try

    func send(_ event: QueuedEvent, at time: Timestamp) async -> DeliveryOutcome? {
        guard let message = PushMessage(event.body) else { return .refused("damaged record") }
        if let due = message.at, time - due > Self.longestAge { return .refused("too late") }
        return await sender.send(message, id: event.id, at: time, on: shard)
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

    // MARK: After a try

    /// The service does not know the device any more. One that has been registered since then stays. If this cannot be written now, the
    /// service repeats it at the next push.
    func isGone(_ event: QueuedEvent, since time: Timestamp) async {
        guard let target = PushTarget(event), let user = UserID(target.user) else { return }
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            .dropDevice, in: keys, ["devices": keys.devices(user)],
            ["platform": sender.platform, "token": PushTarget.json(target.token, of: sender.platform), "time": time])
        removed.value += Int((try? await shard.reply(to: call))?[0].int ?? 0)
    }

    /// A push that no device gets counts for nothing: the next message is pushed.
    func giveUp(_ events: [QueuedEvent]) async -> Bool {
        var isNoted = true
        await shard.tasks.each(events, window: Self.window) { [self] event in
            if await !giveUp(event) { isNoted = false }
        }
        return isNoted
    }

    private func giveUp(_ event: QueuedEvent) async -> Bool {
        // An entry of an earlier version has no time.
        guard let message = PushMessage(event.body), let user = UserID(message.user), let at = message.at else {
            return true
        }
        let keys = shard.partitions.keys(of: user)
        let call = ScriptCall(
            .pushMissed, in: keys, ["pushed": keys.pushed(user)],
            [
                "conversation": message.conversation, "at": at, "platform": sender.platform,
                "token": PushTarget.json(message.pushToken, of: sender.platform),
            ])
        do throws(RedisFailure) {
            _ = try await shard.reply(to: call)
            return true
        } catch {
            // A damaged record holds no message back.
            if due.complaint(of: shard.partitions.index(of: user), error).isLasting {
                shard.recordDamage("push", of: user)
            }
            return error.isLasting
        }
    }
}
