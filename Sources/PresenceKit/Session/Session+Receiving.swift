import Foundation
import PresenceProtocol

// What the server says.
extension Session {
    mutating func receive(_ bytes: [UInt8], at now: Moment) {
        do throws(DecodingFailure) {
            receive(try ServerMessage.decode(bytes), at: now)
        } catch {
            // A change may have been in it: only a new connection brings certainty.
            hangUp(.nonsense("the server sent what cannot be read: \(error.message)"), at: now)
        }
    }

    private mutating func receive(_ message: ServerMessage, at now: Moment) {
        switch message {
        case .connected(let id, let connected): self.connected(id, connected, at: now)
        case .presence(let user, let presence, let at):
            let arrival = arrival(at, now)
            apply(.presence, to: user) { $0.apply(presence, arrival) }
        case .profile(let user, let profile, let at):
            let arrival = arrival(at, now)
            apply(.profile, to: user) { $0.apply(profile, arrival) }
        case .typing(let event):
            guard var held = conversations[event.conversation], held.apply(event, arrival(event.at, now)) else {
                return
            }
            conversations[event.conversation] = held
            touch(conversation: event.conversation)
        case .subscribed(let id, let users, let conversations, let more):
            subscribed(id, users, conversations, more: more, at: now)
        case .users(let id, let users, let more):
            read(id, users, more: more, at: now)
        case .ownStatus(let status): hold(status)
        case .tokenExpiring(let rest): tokenExpires(in: rest, at: now)
        case .stale(let since): becomeStale(since.map(Date.init(timestamp:)) ?? clock.date(at: now))
        case .live: becomeStale(nil)
        case .error(let error): refuse(error, at: now)
        case .ok(let id): accept(id, at: now)
        case .refreshed(let id):
            if let id { requests[id] = nil }
            refreshed(true)
        case .unsubscribed(let id):
            if let id { requests[id] = nil }
        case .profileUpdated(let id, let profile): saved(id, profile)
        case .conversationCreated(let id, let conversation): created(id, conversation)
        case .visibility(let id, let lists, let more): readVisibility(id, lists, more: more)
        // Whoever wants to know asks: `visibility()`.
        case .ownVisibility: break
        case .unknown: break
        }
    }

    private func arrival(_ at: Timestamp?, _ now: Moment) -> Arrival? {
        at.map { Arrival(madeAt: Date(timestamp: $0), receivedAt: clock.date(at: now)) }
    }

    private mutating func apply(_ part: PersonPart, to user: UserID, _ change: (inout HeldPerson) -> Bool) {
        guard let index = people.index(forKey: user), change(&people.values[index]) else { return }
        touch(user, part)
        uncached.insert(user)
    }

    private mutating func becomeStale(_ since: Date?) {
        guard isConnected, serverStaleSince != since else { return }
        serverStaleSince = since
        connectionChanged()
        for (user, person) in people where person.isConfirmed { touch(user) }
        for (id, conversation) in conversations where conversation.isConfirmed { touch(conversation: id) }
        if ownStatus != nil {
            ownStatusStamp = nextStamp()
            wakeLoops(on: .ownStatus)
        }
    }

    mutating func hold(_ status: OwnStatus) {
        ownStatus = status
        ownStatusStaleSince = nil
        ownStatusStamp = nextStamp()
        wakeLoops(on: .ownStatus)
    }

    // MARK: Answers

    private mutating func subscribed(
        _ id: Int64?, _ users: [UserSnapshot], _ answered: [ServerMessage.ConversationSnapshot], more: Bool,
        at now: Moment
    ) {
        for snapshot in users {
            guard people[snapshot.user] != nil else { continue }
            people[snapshot.user]!.replace(with: snapshot)
            confirm(snapshot.user, at: now)
        }
        for snapshot in answered {
            conversations[snapshot.conversation]?.replace(with: snapshot)
        }
        guard !more, let id, let request = requests.removeValue(forKey: id) else { return }
        switch request {
        case .subscribe(let users):
            // Those who were left out are as they were held.
            for user in users where people[user] != nil && !people[user]!.isConfirmed { confirm(user, at: now) }
            for user in users where people[user]?.watch.stage == .asked {
                people[user]!.watch.stage = .watched
                if people[user]!.watch.loops == 0 { unsettledPeople.insert(user) }
            }
        case .follow(let conversation):
            guard conversations[conversation] != nil else { return }
            conversations[conversation]!.isConfirmed = true
            conversations[conversation]!.watch.stage = .watched
            if conversations[conversation]!.watch.loops == 0 { unsettledConversations.insert(conversation) }
            touch(conversation: conversation)
        default: break
        }
    }

    private mutating func confirm(_ user: UserID, at now: Moment) {
        people[user]!.isConfirmed = true
        people[user]!.staleSince = nil
        uncached.insert(user)
        touch(user)
    }

    private mutating func accept(_ id: Int64, at now: Moment) {
        guard let request = requests.removeValue(forKey: id) else { return }
        switch request {
        case .status(let pending): pending.calls.forEach { answer($0, .success(.done)) }
        case .typing(_, let call): if let call { answer(call, .success(.done)) }
        case .stopTyping(let call), .changeVisibility(let call): answer(call, .success(.done))
        case .connect, .refresh, .subscribe, .follow, .unsubscribe, .get, .updateProfile, .keptProfile,
            .createConversation, .readVisibility, .probe:
            break
        }
    }

    /// The lists come in parts, one after the other.
    private mutating func readVisibility(_ id: Int64?, _ part: VisibilityLists, more: Bool) {
        guard let id, case .readVisibility(var lists, let call) = requests[id] else { return }
        lists.visibility = part.visibility
        lists.contacts += part.contacts
        lists.blocks += part.blocks
        requests[id] = more ? .readVisibility(lists, call) : nil
        guard !more else { return }
        let visibility = MyVisibility(
            presence: lists.visibility.presence, lastSeen: lists.visibility.lastSeen,
            contacts: lists.contacts.map(\.string), blocked: lists.blocks.map(\.string))
        answer(call, .success(.visibility(visibility)))
    }

    private mutating func saved(_ id: Int64?, _ profile: Profile) {
        guard let id, let request = requests.removeValue(forKey: id) else { return }
        switch request {
        case .updateProfile(let changes, _, let call):
            profileQueue.supersede(changes)
            keptProfileChanged()
            let saved = PersonProfile(user: user?.string ?? "", .profile(profile), freshness: .live)
            answer(call, .success(.profile(.saved(saved))))
        case .keptProfile:
            profileQueue.acknowledge()
            keptProfileChanged()
        default: break
        }
    }

    private mutating func created(_ id: Int64?, _ conversation: ServerMessage.Conversation) {
        guard let id, case .createConversation(_, let call) = requests.removeValue(forKey: id) else { return }
        let made = Conversation(id: conversation.id.string, participants: conversation.participants.map(\.string))
        answer(call, .success(.conversation(made)))
    }
}
