import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// Checks messages to clients, and published events, as they occur.
extension HistoryRun {
    // MARK: Clients

    func receive(_ message: ServerMessage, _ visitor: Visitor) {
        record("    \(name(visitor)) hears \(message)")
        if !visitor.isGreeted {
            switch message {
            case .connected, .error: visitor.isGreeted = true
            default: violate(.order, "\(name(visitor)) heard \(message) before anything else")
            }
        }
        if case .connected = message { visitor.isLetIn = true }
        switch message {
        case .typing(let event): checkInvisible(event, visitor)
        case .connected, .live:
            if let stay = visitor.stay, stay.confirmedAt == nil, stay.shard.logic.link.isLive, isAdmitted(visitor) {
                stay.confirmedAt = world.now
            }
        case .subscribed(let id?, let users, let conversations, let more):
            if !conversations.isEmpty { visitor.hearsConversation = true }
            for snapshot in users {
                if let presence = snapshot.presence {
                    visitor.presenceVersions[snapshot.user] = presence.version
                    record(presence, of: snapshot.user, visitor)
                }
                if let profile = snapshot.profile { visitor.profileVersions[snapshot.user] = profile.version }
            }
            if !more, let asked = visitor.subscribing.removeValue(forKey: id) { visitor.watched.formUnion(asked.users) }
        case .unsubscribed(let id?):
            if let user = visitor.unsubscribing.removeValue(forKey: id) { visitor.watched.remove(user) }
        case .presence(let user, let presence, _):
            checkOrder(user, presence.version, &visitor.presenceVersions, visitor, "presence")
            record(presence, of: user, visitor)
        case .profile(let user, let profile, _):
            checkOrder(user, profile.version, &visitor.profileVersions, visitor, "profile")
        case .ok(let id): visitor.writing.removeValue(forKey: id)?(true)
        case .profileUpdated(let id?, _): visitor.writing.removeValue(forKey: id)?(true)
        case .error(let error): receive(error, visitor)
        default: break
        }
    }

    /// A session that connected while Redis was unreachable may not be in Redis yet.
    private func isAdmitted(_ visitor: Visitor) -> Bool {
        let sessions = visitor.stay?.shard.logic.sessions.users[visitor.person.id]?.sessions ?? []
        return sessions.contains { $0.id == visitor.client.session && $0.isAdmitted }
    }

    private func receive(_ error: ServerMessage.ErrorMessage, _ visitor: Visitor) {
        guard let id = error.id else { return }
        if let asked = visitor.subscribing.removeValue(forKey: id) {
            // A client that was told to come later does so. One without access to the conversation subscribes to the
            // users only.
            let stay = visitor.stay
            world.after(error.retryAfter ?? 1) { [weak self, weak visitor] in
                guard let self, let visitor, visitor.stay === stay, visitor.client.isConnected else { return }
                subscribe(
                    visitor, asked.users.filter(visitor.wanted.contains),
                    andConversation: asked.conversation && error.code == .unavailable)
            }
        } else if !error.message.contains("unknown") {
            visitor.writing.removeValue(forKey: id)?(false)
        }
    }

    private func checkOrder(
        _ user: UserID, _ version: Int64, _ versions: inout [UserID: Int64], _ visitor: Visitor, _ what: String
    ) {
        if !visitor.watched.contains(user) {
            violate(.order, "\(name(visitor)) heard of \(user)'s \(what) and does not watch them")
        }
        if version > 0, version <= versions[user] ?? 0 {
            violate(
                .growth, "\(name(visitor)) got version \(version) of \(user)'s \(what) after \(versions[user] ?? 0)")
        }
        // Also after the state was lost: a version is never used twice.
        versions[user] = max(version, versions[user] ?? 0)
    }

    /// Every watcher that is shown a version must be shown the same state.
    private func record(_ presence: Presence, of user: UserID, _ visitor: Visitor) {
        guard presence.version > 0, !hasLostData else { return }
        let key = ShownVersion(user: user, version: presence.version)
        if let other = shown[key], other != presence {
            violate(.growth, "\(user)'s version \(presence.version) is both \(other) and \(presence)")
        }
        shown[key] = presence
    }

    func closed(_ visitor: Visitor, _ code: CloseCode) {
        guard let stay = visitor.stay else { return }
        if !visitor.isLetIn { visitor.person.forbiddenNames.formUnion(visitor.rushed) }
        // The client gets a fresh token before it connects again.
        if code == .unauthorized { visitor.client.issuedAt = nil }
        record("    \(name(visitor)) is closed with \(code.rawValue)")
        switch code {
        case .normal, .policyViolation, .disconnected:
            stay.mayBeGone = true
            stay.gone(by: world.now + 1_000)
        case .replaced:
            stay.mayBeGone = true
            stay.gone(by: world.now + 1_000)
            // The order of two connects within a second may be misjudged if commands are delayed.
            let isYounger = visitor.person.stays.contains {
                $0 !== stay && $0.device == stay.device && $0.device != nil
                    && ($0.dialledAt >= stay.dialledAt - 1_050 || stay.shard !== $0.shard && hasStood($0.shard))
            }
            // Ages are compared by Redis' clock.
            if !isYounger, jumpedAt == nil { violate(.younger, "\(name(visitor)) was replaced by no younger session") }
        default:
            isLost(visitor)
            if code == .unauthorized { return comeBack(visitor, to: visitor.place, after: 50) }
            guard code == .serviceRestart || code == .tryAgainLater else { return }
            let advice = visitor.client.closeReason.split(separator: ":").last?.dropLast()
            comeBack(visitor, to: visitor.place + 1, after: advice.flatMap { Milliseconds($0) } ?? 1_000)
        }
    }

    private func hasStood(_ shard: SimulatedShard) -> Bool { shard.isStopped || wokenAt[shard.name] != nil }

    func name(_ visitor: Visitor) -> String { "\(visitor.person.id) at place \(visitor.place)" }

    // MARK: Redis

    func watchRedis() {
        let publish = world.redis.publish
        world.redis.publish = { [unowned self] channel, payload in
            if payload.first == UInt8(ascii: "P"), channel.contains(":events") { receivePublished(payload) }
            publish(channel, payload)
        }
        world.redis.refuse = { [unowned self] in refusal(of: $0, $1) }
        world.redis.runs = { [unowned self] script, arguments in
            // The command may reach Redis late, and after its server has died: it ends the sessions of that time.
            guard script == .disconnect, let person = people.first(where: { $0.id.string == arguments[3] }) else {
                return
            }
            for stay in person.stays { stay.mayBeGone = true }
        }
        world.redis.ran = { [unowned self] script, arguments, answer in
            if ![.renew, .sweep].contains(script) { record("  Redis: \(script) \(arguments): \(answer)") }
            guard script == .renew, case .success(let value) = answer, value.array?.first?.string == "OK",
                // A new incarnation does not act for sessions that still belong to another one.
                let shard = world.shards.first(where: {
                    !$0.isDead && $0.logic.link.incarnation == arguments[1] && $0.logic.link.isLive
                })
            else { return }
            let gap = uptime - (renewedAt[shard.name] ?? uptime)
            if gap > world.configuration.lease.duration - 100 { doubtful.insert(shard.name) }
            // It counts from when it was sent.
            let (now, sent) = (Timestamp(arguments[0]) ?? 0, Timestamp(arguments[6]))
            renewedAt[shard.name] = uptime - max(0, now - (sent ?? now))
        }
    }

    /// `P user version at "status":"…","since":N…}`
    private func receivePublished(_ payload: [UInt8]) {
        let words = String(decoding: payload, as: UTF8.self).split(separator: " ", maxSplits: 4)
        guard words.count == 5, let version = Int64(words[2]), let number = Int(words[1].dropFirst()),
            let since = words[4].firstRange(of: ",\"since\":")
        else { return violate(.announcedOnce, "\(words) is no event") }
        let person = people[number]
        let status = words[4][..<since.lowerBound]
        let rest = words[4][since.upperBound...].drop { $0.isNumber }
        if let before = person.announced {
            if version <= before.version {
                violate(.growth, "\(person.id)'s version \(version) was announced after \(before.version)")
            }
            if before.status == status, before.rest == rest, !hasLostData {
                violate(.announcedOnce, "\(person.id)'s \(words[4]) was announced twice")
            }
        }
        person.announced = .init(version: version, status: status, rest: rest)
        if isOffline(person) { checkFlicker(person) }
    }

    func isOffline(_ person: Person) -> Bool { person.announced?.status == "\"status\":\"offline\"" }

    // MARK: No flicker

    /// A user is announced as offline: they must be.
    private func checkFlicker(_ person: Person) {
        let settings = world.configuration
        if hasLostData { return }
        // The length of a lease is measured by Redis' clock.
        if let jumpedAt, world.now - jumpedAt < settings.lease.duration + settings.linger { return }
        for stay in person.stays where isToBeSeen(stay) {
            guard let chosen = try? chosen(by: person), chosen.status != .invisible else { return }
            return violate(
                .flicker,
                "\(person.id) was announced as gone, but is on \(stay.shard.name) since \(stay.dialledAt)"
                    + (stay.lostAt.map { ", lost at \($0)" } ?? ""))
        }
    }

    func isToBeSeen(_ stay: Stay) -> Bool {
        let settings = world.configuration
        let slack: Milliseconds = 100
        if stay.confirmedAt != nil, !stay.mayBeGone, world.now < stay.protectedUntil { return true }
        guard stay.confirmedAt != nil, !stay.mayBeGone, !doubtful.contains(stay.shard.name),
            let renewed = renewedAt[stay.shard.name]
        else { return false }
        // While Redis is unreachable no lease expires, except for a server that does not return afterwards, or that was
        // suspended and returns too late.
        let comesBack = stay.shard.isRunning && !stay.shard.isHeld && !hasStood(stay.shard)
        let sinceRenewal = uptime - renewed + (comesBack ? 0 : downTime)
        guard sinceRenewal < settings.lease.duration - slack else { return false }
        if let lostAt = stay.lostAt, world.now - lostAt > settings.linger - slack { return false }
        let patience = min(settings.linger, settings.heartbeat.timeout)
        if let vanishedAt = stay.vanishedAt, world.now - vanishedAt > patience - slack { return false }
        return true
    }

    // MARK: No ghosts

    /// No user may be announced as online for longer than the bound after they have left.
    func checkGhosts() {
        for person in people where person.announced != nil && !isOffline(person) {
            guard !person.stays.contains(where: { $0.goneBy == nil }),
                let bound = person.stays.compactMap(\.goneBy).max()
            else { continue }
            if world.now > max(bound, troubledAt + longestGhost) {
                violate(.ghost, "\(person.id) should be seen as gone since \(bound)")
            }
        }
        for person in people where person.stays.count > 20 {
            person.stays.removeAll { stay in stay.goneBy.map { world.now > $0 + longestGhost } ?? false }
        }
    }

    // MARK: No silent lies

    /// A server that cannot know the current state must report that in time.
    func checkSilence() {
        // A new subscription receives messages again.
        for name in deafSince.keys
        where !world.shards.contains(where: { $0.name == name && !$0.isDead && $0.subscription.isDeaf }) {
            deafSince[name] = nil
        }
        let promise = ServerConfiguration.stalenessPromise + 300
        for shard in world.shards where shard.isRunning && shard.logic.link.isLive {
            let since = [downSince, deafSince[shard.name]].compactMap { $0 }.min()
            guard let since else { continue }
            if world.now - max(since, wokenAt[shard.name] ?? 0) > promise {
                violate(.silentLie, "\(shard.name) has not known anything since \(since), and does not say so")
            }
        }
    }
}
