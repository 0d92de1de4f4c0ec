import Foundation
import PresenceProtocol

// Who is observed, and what the server is asked for because of it.
extension Session {
    /// A loop begins.
    mutating func open(_ topic: Topic, at now: Moment) -> LoopID {
        let id = newLoopID()
        loops[id] = Loop(topic: topic)
        if case .roster(let users) = topic { rosters[id] = HeldRoster(users) }
        let users = topic.users
        for user in users {
            loopsByUser[user, default: []].insert(id)
            if people[user] == nil { people[user] = HeldPerson() }
            people[user]!.watch.join()
            if people[user]!.watch.stage == .unasked { unsettledPeople.insert(user) }
        }
        if let conversation = topic.conversation {
            loopsByConversation[conversation, default: []].insert(id)
            if conversations[conversation] == nil { conversations[conversation] = HeldConversation() }
            conversations[conversation]!.watch.join()
            if conversations[conversation]!.watch.stage == .unasked { unsettledConversations.insert(conversation) }
        }
        if topic != .connection { connect(again: false, at: now) }
        if !isConnected {
            let unknown = users.filter { !people[$0]!.isKnown }
            if !unknown.isEmpty { say(.readCache(unknown)) }
        }
        return id
    }

    /// A loop is over, or its task was cancelled.
    mutating func close(_ id: LoopID, at now: Moment) {
        guard let loop = loops.removeValue(forKey: id) else { return }
        rosters[id] = nil
        let leaving = now.uptime + configuration.unsubscribeGrace
        for user in loop.topic.users {
            loopsByUser[user]?.remove(id)
            if loopsByUser[user]?.isEmpty == true { loopsByUser[user] = nil }
            guard people[user] != nil else { continue }
            people[user]!.watch.leave(at: leaving)
            if people[user]!.watch.loops == 0 { unsettledPeople.insert(user) }
        }
        if let conversation = loop.topic.conversation {
            loopsByConversation[conversation]?.remove(id)
            if loopsByConversation[conversation]?.isEmpty == true { loopsByConversation[conversation] = nil }
            guard conversations[conversation] != nil else { return }
            conversations[conversation]!.watch.leave(at: leaving)
            if conversations[conversation]!.watch.loops == 0 { unsettledConversations.insert(conversation) }
        }
    }

    /// Ends a loop from this side.
    mutating func endLoop(_ id: LoopID, at now: Moment) {
        close(id, at: now)
        woken.insert(id)
    }

    // MARK: News

    mutating func nextStamp() -> UInt64 {
        stamp += 1
        return stamp
    }

    /// Something about this person changed: their loops look again.
    mutating func touch(_ user: UserID, _ part: PersonPart = .both) {
        let stamp = nextStamp()
        if part != .profile { people[user]?.presenceStamp = stamp }
        if part != .presence { people[user]?.profileStamp = stamp }
        guard let loops = loopsByUser[user] else { return }
        woken.formUnion(loops)
        if !rosters.isEmpty {
            for loop in loops { rosters[loop]?.touch(user) }
        }
    }

    /// Something about this conversation changed.
    mutating func touch(conversation: ConversationID) {
        let stamp = nextStamp()
        conversations[conversation]?.stamp = stamp
        if let loops = loopsByConversation[conversation] { woken.formUnion(loops) }
    }

    mutating func wakeLoops(on topic: Topic) {
        for (id, loop) in loops where loop.topic == topic { woken.insert(id) }
    }

    mutating func connectionChanged() {
        connectionStamp = nextStamp()
        wakeLoops(on: .connection)
    }

    mutating func keptProfileChanged() {
        keptProfileStamp = nextStamp()
        wakeLoops(on: .keptProfile)
    }

    // MARK: The cache

    /// The cache has answered.
    mutating func recall(_ users: [UserID], _ found: [CachedPerson], at now: Moment) {
        for cached in found {
            guard let user = UserID(cached.user), people[user] != nil, !people[user]!.isConfirmed else { continue }
            if people[user]!.recall(cached) { touch(user) }
        }
        recallReadings(found)
    }
}

/// One register of a person, or both.
enum PersonPart: Sendable {
    case presence, profile, both
}
