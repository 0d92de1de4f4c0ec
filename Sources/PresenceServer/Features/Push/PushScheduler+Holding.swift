import PresenceCore
import PresenceProtocol
import Redis

/// Pushes that are held, because their user has quiet hours or is busy (``NotificationSettings``). They are decided together when that is
/// over: one summary is made of what is still unread, or the push itself, if it is the only one.
extension PushScheduler {
    /// The most held pushes that one decision looks at; further ones count as unread.
    private static let mostListed = 200
    /// Those that are looked at at a time.
    private static let window = 8
    /// ms after which a push is decided again if the time zone of its user could not be read.
    private static let unreadZone: Milliseconds = 60_000

    private struct Held {
        let settings: NotificationSettings
        let isBusy: Bool
        let isMore: Bool
        let now: Timestamp
        /// With the record of each, as scripts compare it.
        let places: [(place: PushPlace, record: String)]

        init(_ reply: ScriptReply, of user: UserID) {
            settings = NotificationSettings(stored: reply[0].string ?? "")
            (isBusy, isMore, now) = (reply[1].int == 1, reply[2].int == 1, reply[3].int ?? 0)
            places = stride(from: 4, to: reply.count - 1, by: 2).compactMap { at in
                guard let name = reply[at].string, let record = reply[at + 1].string,
                    let place = PushPlace(user: user.string, conversation: name)
                else { return nil }
                return (place, record)
            }
        }
    }

    /// The decision about a held push.
    private enum Fate: Equatable {
        /// Not wanted any more.
        case drop
        /// Decided by itself, as usual.
        case alone
        /// In the summary, which stands for the messages up to this one.
        case summarise(Int64)

        var argument: String {
            switch self {
            case .drop: "drop"
            case .alone: "alone"
            case .summarise(let seq): String(seq)
            }
        }
    }

    /// Until when a push is held, if it is.
    func holdEnd(
        _ settings: NotificationSettings, _ isBusy: Bool, isUrgent: Bool, at time: Timestamp
    ) async -> Timestamp? {
        func end(in zone: ZoneRules?) -> Timestamp? {
            settings.hold(at: time, isBusy: isBusy, isUrgent: isUrgent, in: zone)
        }
        guard let quiet = settings.quiet, !(isUrgent && quiet.allow.contains(.urgent)),
            let zones = shard.feature(NotificationSettingsRequests.self)?.zones
        else { return end(in: nil) }
        do throws(Refusal) {
            let zone = try await zones.rules(of: quiet.timezone)
            // Without the rules of a zone, which the system had when it was set, there are no quiet hours.
            if zone == nil { shard.logSparsely("time zone not known", ["name": quiet.timezone], level: .warning) }
            return end(in: zone)
        } catch {
            // Too many jobs wait. The quiet hours may have begun.
            return end(in: nil) ?? time + Self.unreadZone
        }
    }

    // MARK: The end

    /// Users are not busy any more, or have changed their settings.
    ///
    /// - Returns: The events that must come again.
    func wake(_ events: [OfferedEvent], in partition: Int) async -> [OfferedEvent] {
        let free = events.filter { $0.type == "user.free" }
        var left: [OfferedEvent] = []
        await shard.tasks.each(free, window: Self.window) { [shard] event in
            do throws(RedisFailure) {
                let key = shard.partitions.keys(partition).held
                _ = try await shard.command(["ZADD", key, "XX", "LT", "0", event.subject])
            } catch {
                if !error.isLasting { left.append(event) }
            }
        }
        if !free.isEmpty { schedule(partition, after: 0) }
        return left
    }

    /// - Parameter leaseEnd: When the lease ends, by the partition's clock (ms since 1970).
    func decideHeld(of user: UserID, leaseEnd: Timestamp) async {
        do throws(RedisFailure) {
            let keys = shard.partitions.keys(of: user)
            let call = ScriptCall(
                .pushHeld, in: nil, ["pushed": keys.pushed(user), "user": keys.user(user)],
                ["most": Self.mostListed])
            guard let reply = try await run(call, of: user) else { return await removeHeld(user) }
            let held = Held(reply, of: user)
            if let time = await holdEnd(held.settings, held.isBusy, isUrgent: false, at: held.now) {
                return try await release(held, of: user, leaseEnd: leaseEnd, until: time)
            }
            var fates: [String: Fate] = [:]
            var failure: RedisFailure?
            await shard.tasks.each(held.places, window: Self.window) { [self] place, _ in
                do throws(RedisFailure) {
                    fates[place.conversation.string] = try await fate(of: place, at: leaseEnd - Self.lease - Self.wait)
                } catch {
                    if !error.isLasting { failure = error }
                }
            }
            if let failure { throw failure }
            let wanted = held.places.map(\.place).filter {
                if case .summarise = fates[$0.conversation.string] { true } else { false }
            }
            var contents: [UInt8] = []
            if wanted.count == 1, !held.isMore {
                fates[wanted[0].conversation.string] = .alone
            } else if !wanted.isEmpty {
                contents = try await PushContents(shard: shard, user: user, settings: held.settings)
                    .members(PushSummary(wanted))
                duePushes.value += 1
            }
            try await release(held, of: user, leaseEnd: leaseEnd, fates: fates, contents)
        } catch {
            guard error.isLasting else { return }
            shard.recordDamage("push", of: user)
            await removeHeld(user)
        }
    }

    private func fate(of place: PushPlace, at time: Timestamp) async throws(RedisFailure) -> Fate {
        guard let facts = try await facts(of: place) else { return .drop }
        let need = try await need(of: place, facts, at: time)
        guard let subject = need.subject else { return need.wait > 0 ? .alone : .drop }
        if case .message(_, let record) = subject, !facts.settings.wants(record) { return .drop }
        return .summarise(need.seq)
    }

    private func release(
        _ held: Held, of user: UserID, leaseEnd: Timestamp, until time: Timestamp? = nil, fates: [String: Fate] = [:],
        _ contents: [UInt8] = []
    ) async throws(RedisFailure) {
        let keys = shard.partitions.keys(of: user)
        let rows = held.places.flatMap { place, record in
            [place.conversation.string, record, (fates[place.conversation.string] ?? .drop).argument]
        }
        let reply = try await shard.reply(
            to: ScriptCall(
                .pushRelease, in: keys,
                [
                    "push": keys.push, "pushed": keys.pushed(user), "devices": keys.devices(user),
                    "grants": keys.grants(user), "user": keys.user(user), "held": keys.held,
                    "notifications": keys.notifications(user), "sessions": keys.sessions(user),
                ],
                [
                    "user": user, "limit": leaseEnd - Self.wait, "leaseEnd": leaseEnd, "later": time,
                    "contents": contents,
                    "idle": shard.configuration[Accounts.idle], "platforms": platforms.map { " \($0) " }.joined(),
                    "isMore": held.isMore,
                ], each: time == nil ? rows : []))
        schedule(user, after: reply[0].int)
        // The one that is scheduled now.
        if fates.values.contains(.alone) { schedule(user, after: 0) }
    }

    private func removeHeld(_ user: UserID) async {
        _ = try? await shard.command(["ZREM", shard.partitions.keys(of: user).held, user.string])
    }

    // MARK: Waiting pushes

    /// Holds a push that waits for its service, if its user has quiet hours or is busy by now.
    ///
    /// - Returns: Whether it is held.
    func hold(_ push: PushMessage, at place: PushPlace, _ facts: PushFacts) async throws(RedisFailure) -> Bool {
        let isUrgent = push.notification?.urgency == .high
        guard let time = await holdEnd(facts.settings, facts.isBusy, isUrgent: isUrgent, at: facts.now) else {
            return false
        }
        let (user, keys) = (place.user, shard.partitions.keys(of: place.user))
        let notifications = push.summary?.notifications ?? (push.notification == nil ? [] : [place.conversation.string])
        let call = ScriptCall(
            .pushHold, in: keys,
            ["pushed": keys.pushed(user), "held": keys.held, "notifications": keys.notifications(user)],
            ["user": user, "conversation": place.conversation, "at": push.at, "hold": time], each: notifications)
        guard try await run(call, of: user) != nil else { return false }
        schedule(user, after: time - facts.now)
        return true
    }

    /// Whether a waiting push of a notification, or a summary, still has something that its user has not read.
    func isPending(_ push: PushMessage, at place: PushPlace, _ facts: PushFacts) async throws(RedisFailure) -> Bool {
        guard let summary = push.summary else {
            return try await isPending(place, until: push.notification?.expires)
        }
        // A later summary stands for this one.
        guard facts.lastPushedAt == push.at else { return false }
        for name in summary.notifications {
            guard let place = PushPlace(user: push.user, conversation: name) else { continue }
            if try await isPending(place, until: nil) { return true }
        }
        for id in summary.conversations.compactMap({ ConversationID($0) }) {
            guard let record = try await read(id), let member = record.member(place.user), wantsPushes(member),
                try await newestUnread(by: member, in: record, except: facts.blocked) != nil
            else { continue }
            return true
        }
        return false
    }
}

/// The places that a summary stands for: at most 100 of each kind.
struct PushSummary: Codable, Sendable, Equatable {
    let conversations: [String]
    /// As ``PushPlace`` names them.
    let notifications: [String]

    private static let most = 100

    init(_ places: [PushPlace]) {
        let names = places.map(\.conversation.string)
        conversations = Array(names.filter { !$0.hasPrefix("#") }.prefix(Self.most))
        notifications = Array(names.filter { $0.hasPrefix("#") }.prefix(Self.most))
    }

    var count: Int { conversations.count + notifications.count }
    /// The members that apps get.
    var counts: [String: Any] { ["conversations": conversations.count, "notifications": notifications.count] }

    /// What devices show.
    var text: String {
        switch (conversations.isEmpty, notifications.isEmpty) {
        case (false, true): "New messages"
        case (true, false): "New notifications"
        default: "New messages and notifications"
        }
    }
}
