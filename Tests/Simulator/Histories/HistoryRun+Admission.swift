import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// Admission: clients that send requests before `connected`, revoked tokens, administrators, and servers that all die.
extension HistoryRun {
    // MARK: In one packet

    func rush(_ visitor: Visitor, to shard: SimulatedShard, _ what: Int) {
        guard !visitor.client.isConnected, !shard.isDead else { return }
        connect(visitor, to: shard, visitor.activity, 0)
        guard visitor.client.canSpeak else { return }
        switch what % 5 {
        case 0, 1:
            rushes += 1
            let name = "Rush \(rushes)"
            visitor.rushed.append(name)
            rename(visitor, name)
        case 2: choose(visitor, .busy, "rushing", 0)
        case 3: visitor.client.send(.typing(conversation: conversation, typing: true))
        default:
            visitor.activity = .idle
            visitor.client.send(.activity(.idle))
        }
    }

    func flash(_ number: Int, _ place: Int, _ shard: Int) {
        let first = visitor(number, place)
        guard !first.client.isConnected else { return }
        connect(first, to: self.shard(shard), .active, 0)
        close(first)
        connect(visitor(number, (place + 1) % SimulatedHistory.places), to: self.shard(shard), .active, 0)
    }

    // MARK: Administrators

    func disconnect(_ person: Person, through shard: SimulatedShard) {
        guard shard.isRunning, shard.logic.link.isLive else { return }
        let began = world.now
        shard.input { [unowned self] logic in
            logic.run(logic.disconnecting(person.id)) { [self] result in
                guard case .success(let value) = result, value.array?.first?.string == "OK" else { return }
                // The order of two connects within a second may be misjudged if commands are delayed. A connect that a
                // suspended server has processed late counts as younger.
                for stay in person.stays where stay.confirmedAt.map({ $0 < began - 1_100 }) ?? false {
                    stay.bannedAt = world.now
                }
            }
        }
    }

    func revoke(_ person: Person, through shard: SimulatedShard) {
        guard shard.isRunning, shard.logic.link.isLive else { return }
        for stay in person.stays { stay.mayBeGone = true }
        shard.input { logic in
            logic.run(logic.revokingTokens(of: person.id)) { result in
                guard case .success(let value) = result, let words = value.array, words.first?.string == "OK",
                    let from = words.last?.int
                else { return }
                person.revokedAt = max(person.revokedAt, from)
            }
        }
    }

    /// The name itself, or a forbidden one if the token is revoked, whether the server knows that or not.
    func nameToAsk(_ visitor: Visitor, _ name: String) -> String {
        guard let stay = visitor.stay, stay.issuedAt < visitor.person.revokedAt else { return name }
        let name = "\(name) by a worthless token"
        visitor.person.worthlessNames.insert(name)
        return name
    }

    /// Requests of clients that were not admitted have had no effect, and disconnected sessions are over.
    func checkAdmission(of person: Person) {
        if let name = try? name(of: person), person.forbiddenNames.contains(name) {
            violate(
                .admission, "\(person.id) is named \(name), which was asked for on a connection that was not let in")
        }
        guard !hasLostData, jumpedAt == nil else { return }
        if let name = try? name(of: person), person.worthlessNames.contains(name) {
            violate(.banned, "\(person.id) is named \(name)")
        }
        for visitor in person.connected {
            guard let stay = visitor.stay else { continue }
            if stay.bannedAt != nil { violate(.banned, "\(name(visitor)) is still connected") }
            // Also if it has connected again since, with the same token.
            if stay.issuedAt < person.revokedAt {
                violate(.banned, "\(name(visitor)) is connected with a token that was revoked")
            }
        }
    }

    // MARK: Invisible

    /// Checked on the server that acknowledged the invisible status, as long as the user has a session there.
    func checkInvisible(_ event: ServerMessage.TypingEvent, _ visitor: Visitor) {
        for user in event.users {
            guard let person = people.first(where: { $0.id == user }), let shard = person.invisibleOn,
                visitor.stay?.shard === shard, shard.logic.sessions.users[user] != nil,
                (event.at ?? 0) > person.invisibleSince, !hasLostData, jumpedAt == nil
            else { continue }
            violate(.invisible, "\(name(visitor)) is shown that \(user) types")
        }
    }

    /// On every server: typing from before is withdrawn when Redis can reach all servers, and typing on a server that
    /// dies expires.
    func checkHidden() {
        let isCalm =
            world.now > troubledAt && deafSince.isEmpty && world.now - diedAt > world.configuration[Typing.expiry]
            && !hasLostData && jumpedAt == nil
        let hidden = Set(people.filter(\.isCertainlyInvisible).map(\.id))
        // Most of the time: this is called after each action.
        guard isCalm, !hidden.isEmpty else { return hiddenShownSince = [:] }
        for visitor in people.flatMap({ $0.devices.values.sorted { $0.place < $1.place } }) {
            let client = visitor.client
            let shown = client.typing[conversation]?.users.filter(hidden.contains) ?? []
            guard !shown.isEmpty, client.canSpeak, visitor.hearsConversation, !client.isSlow, !client.isStale,
                visitor.activity != .background
            else {
                hiddenShownSince[ObjectIdentifier(visitor)] = nil
                continue
            }
            let since = hiddenShownSince[ObjectIdentifier(visitor), default: world.now]
            hiddenShownSince[ObjectIdentifier(visitor)] = since
            if world.now - since > 800 { violate(.invisible, "\(name(visitor)) is still shown that \(shown) type") }
        }
    }

    // MARK: All servers

    /// The first server after a time without any.
    func endBlackout() {
        // From now on, lost clients that do not return stay online for a linger.
        troubledAt = world.now
        for stay in people.flatMap(\.stays) where stay.protectedUntil == .max {
            stay.protectedUntil = world.now + world.configuration.linger - 200
        }
    }

    /// Clients cannot return without a server: linger counts from the time at which there is one again.
    func blackout(_ pause: Milliseconds) throws {
        let seen = people.flatMap(\.stays).filter { isToBeSeen($0) }
        let visitors = people.flatMap(\.connected)
        let linger = world.configuration.linger
        // Without a server no user can be announced as offline; then linger begins.
        for stay in seen { stay.protectedUntil = .max }
        for number in world.shards.indices { kill(shard(number)) }
        try wait(pause)
        for number in world.shards.indices { startAgain(number) }
        for (index, visitor) in visitors.enumerated() where index % 3 > 0 {
            comeBack(visitor, to: index, after: linger / 2)
        }
    }
}
