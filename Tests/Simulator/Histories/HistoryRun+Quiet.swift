import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// Ends all faults, and compares what each client shows with the truth.
extension HistoryRun {
    func quiet() throws {
        heal()
        // By now all clients that were about to return have connected.
        try wait(6_500)
        heal()
        try wait(longestGhost)
        // If two sessions exclude each other, one may just be connecting again. A session admitted late, when another's
        // place has become free, may still be in the background.
        repeat {
            try world.run(until: "everyone who is here is let in") {
                people.flatMap(\.connected).allSatisfy { $0.client.session != nil }
            }
        } while try !bringForward()
        try checkLive()
        for person in people { checkAdmission(of: person) }
        for person in people { try checkTruth(of: person) }
        checkViews()
        if let violation { throw violation }
        hasLostData = false
        jumpedAt = nil
        shown = [:]
        for person in people {
            person.forgetWrites()
        }
    }

    private func heal() {
        refusals = [:]
        endRefusing()
        redisIsUp(.silence)
        redisIsUp(.restart)
        world.redis.isSilent = false
        world.redis.isGone = false
        for shard in world.shards {
            wake(shard)
            shard.stopHolding()
        }
        reviveSomebody()
        for visitor in people.flatMap(\.connected) {
            if visitor.client.isSlow { visitor.client.readsAgain() }
            comeForward(visitor)
        }
    }

    /// A client in the background is shown nothing.
    @discardableResult
    private func comeForward(_ visitor: Visitor) -> Bool {
        guard visitor.activity == .background, visitor.client.canSpeak else { return false }
        visitor.activity = .active
        visitor.client.send(.activity(.active))
        return true
    }

    /// Whether no client was in the background; those that were get time to be shown everything.
    private func bringForward() throws -> Bool {
        let moved = people.flatMap(\.connected).filter { comeForward($0) }
        if !moved.isEmpty { try wait(1_000) }
        return moved.isEmpty
    }

    private func checkLive() throws {
        for shard in world.shards where !shard.isDead && !shard.logic.link.isLive {
            violate(.live, "\(shard.name) is not live")
        }
        for visitor in people.flatMap(\.connected) where visitor.client.isStale || visitor.client.session == nil {
            violate(.live, "\(name(visitor)) was not told that what they see is true again")
        }
    }

    // MARK: The truth

    /// Compares a user's state in Redis with their devices, and with their own notifications.
    private func checkTruth(of person: Person) throws {
        let here = person.connected
        var devices: [String: Int] = [:]
        for visitor in here { SimulatedHistory.device(visitor.place).id.map { devices[$0, default: 0] += 1 } }
        if devices.values.contains(where: { $0 > 1 }) {
            violate(.younger, "\(person.id) has two connections of one device")
        }
        let sessions = try self.sessions(of: person)
        let expected = here.compactMap(\.client.session)
        if Set(sessions) != Set(expected) {
            violate(.truth, "\(person.id) has the sessions \(sessions.sorted()) in Redis, and is \(expected.sorted())")
        }
        var chosen = try chosen(by: person)
        // The chosen status of an offline user is visible to no one, so it ends when they return.
        if here.isEmpty, chosen.clearAt.map({ $0 <= world.redisNow }) == true { chosen = OwnStatus() }
        let presence = try register(of: person).presence
        let status: PresenceStatus =
            if here.isEmpty || chosen.status == .invisible {
                .offline
            } else if chosen.status == .busy {
                .busy
            } else {
                here.contains { $0.activity == .active } ? .online : .away
            }
        if presence.status != status {
            violate(.truth, "\(person.id) is \(status), and Redis holds \(presence)")
        } else if status != .offline {
            let kinds = Set(here.map { SimulatedHistory.device($0.place).kind }).sorted()
            if presence.devices != kinds || presence.text != chosen.text {
                violate(.truth, "\(person.id) has \(kinds), \(chosen), and Redis holds \(presence)")
            }
        }
        for visitor in here where !isTold(visitor.client.ownStatus, chosen) {
            violate(
                .view,
                "\(name(visitor)) was told that they chose \(String(describing: visitor.client.ownStatus)): \(chosen)")
        }
        try checkStored(person, chosen)
    }

    private func isTold(_ told: OwnStatus?, _ chosen: OwnStatus) -> Bool {
        guard hasLostData || jumpedAt != nil else { return told == chosen }
        // A server's own timer for the end of a status follows a clock that it knows to some ms.
        return told?.status == chosen.status && told?.text == chosen.text
    }

    private func checkStored(_ person: Person, _ chosen: OwnStatus) throws {
        if let names = person.names.candidates, let held = try name(of: person), !names.contains(held) {
            violate(.lost, "\(person.id) is named \(held), and none of \(names)")
        }
        guard let statuses = person.statuses.candidates, jumpedAt == nil else { return }
        let may = statuses.map { value in
            value.clearAt.map { $0 <= world.redisNow } == true
                ? OwnStatus() : OwnStatus(status: value.status, text: value.text, clearAt: nil)
        }
        if !may.contains(OwnStatus(status: chosen.status, text: chosen.text)) {
            violate(.lost, "\(person.id) has chosen \(chosen), and none of \(may)")
        }
    }

    // MARK: Everyone's view

    private func checkViews() {
        do {
            var truths: [UserID: (presence: Presence, profile: ProfileRegister)] = [:]
            for person in people { truths[person.id] = try register(of: person) }
            for visitor in people.flatMap(\.connected) {
                for user in visitor.wanted.sorted() { check(visitor, user, truths[user]!) }
                if visitor.hearsConversation, let typing = visitor.client.typing[conversation], !typing.users.isEmpty {
                    violate(.typing, "\(name(visitor)) sees \(typing.users) type")
                }
            }
        } catch {
            violate(.truth, "\(error)")
        }
    }

    private func check(_ visitor: Visitor, _ user: UserID, _ truth: (presence: Presence, profile: ProfileRegister)) {
        let client = visitor.client
        if !visitor.watched.contains(user) {
            return violate(.view, "\(name(visitor)) was never answered about \(user)")
        }
        if client.presences[user] != truth.presence {
            violate(
                .view,
                "\(name(visitor)) sees \(user) as \(String(describing: client.presences[user])), not \(truth.presence)")
        }
        if client.profiles[user] ?? .none != truth.profile {
            violate(
                .view,
                "\(name(visitor)) sees \(user)'s profile as \(String(describing: client.profiles[user])), "
                    + "not \(truth.profile)")
        }
    }

    // MARK: Leaving

    /// All clients leave, and nothing remains.
    func end() throws {
        heal()
        isEnding = true
        for visitor in people.flatMap(\.connected) { close(visitor) }
        try wait(longestGhost + 3_000)
        for visitor in people.flatMap(\.connected) { close(visitor) }
        try wait(longestGhost)
        // After a jump of Redis' clock, the end of a status is checked once a minute.
        if world.shards.contains(where: { !$0.isDead && !$0.timers.isEmpty }) { try wait(61_000) }
        for shard in world.shards where !shard.isDead { checkLeftovers(shard) }
        try checkKeys()
        if let violation { throw violation }
    }

    private func checkLeftovers(_ shard: SimulatedShard) {
        let logic = shard.logic!
        let left = [
            "sessions": logic.sessions.count, "users": logic.sessions.users.count,
            "topics": logic.watchers.topics.count { $0 != nil }, "watches": logic.watchers.subscriptionCount,
            "connections": logic.watchers.connections.count { $0 != nil }, "timers": shard.timers.count,
            "untold ends": logic.sessions.hasUnasserted ? 1 : 0,
            "lines to write to": logic.watchers.dirty.count,
            "commands": shard.lanes.values.map { $0.pending.count > 8 ? $0.pending.count : 0 }.reduce(0, +),
        ].filter { $0.value > 0 }
        if !left.isEmpty {
            violate(
                .leak,
                "\(shard.name) has \(left.sorted { $0.key < $1.key }), "
                    + "timers: \(shard.timers.prefix(5))")
        }
    }

    private func checkKeys() throws {
        let live = Set(world.shards.filter { !$0.isDead }.map { $0.logic.link.incarnation })
        let leases = try strings("HKEYS", "leases").filter { $0 != "swept" }
        if Set(leases) != live { violate(.leak, "leases of \(leases), and \(live) live") }
        for key in try strings("KEYS", "*") {
            if key.contains(":sessions:") || key.contains(":shard:") { violate(.leak, "\(key) is left in Redis") }
            guard key.hasSuffix(":shards") else { continue }
            let members = try strings("SMEMBERS", key)
            if Set(members) != live { violate(.leak, "\(members) may write in \(key), and \(live) live") }
        }
    }
}

extension SimulatedShard {
    /// Its pending timers, except the next sweep of intents, which always exists.
    fileprivate var timers: [Deadlines.Subject] { logic.deadlines.subjects.filter { $0 != .intents } }
}
