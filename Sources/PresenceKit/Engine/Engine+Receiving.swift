import Foundation
import PresenceProtocol

// What the server says.
extension Engine {
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
        case .presence(let user, let presence, let at): watchlist.apply(presence, to: user, arrival(at, now))
        case .profile(let user, let profile, let at): watchlist.apply(profile, to: user, arrival(at, now))
        case .typing(let event): watchlist.apply(event, arrival(event.at, now))
        case .subscribed(let id, let users, let conversations, let more):
            watchlist.replace(with: users, conversations)
            if !more { subscribed(requests.take(id)) }
        case .users(let id, let users, let more): found(id, users, more: more, at: now)
        case .ownStatus(let status): me.hold(status)
        case .tokenExpiring(let rest): emit(link.tokenExpires(in: rest, at: now))
        case .stale(let since): becomeStale(since.map(Date.init(timestamp:)) ?? link.clock.date(at: now))
        case .live: becomeStale(nil)
        case .error(let error): refuse(requests.take(error.id), PresenceError(error), at: now)
        case .ok(let id): accept(requests.take(id))
        case .refreshed(let id):
            _ = requests.take(id)
            link.refreshed(true)
        case .unsubscribed(let id): _ = requests.take(id)
        case .profileUpdated(let id, let profile): saved(requests.take(id), profile)
        case .conversationCreated(let id, let conversation): created(requests.take(id), conversation)
        case .visibility(let id, let lists, let more): readVisibility(id, lists, more: more)
        // The app asks for it: `visibility()`.
        case .ownVisibility: break
        case .unknown: break
        }
    }

    private func arrival(_ at: Timestamp?, _ now: Moment) -> Arrival? {
        at.map { Arrival(madeAt: Date(timestamp: $0), receivedAt: link.clock.date(at: now)) }
    }

    private mutating func becomeStale(_ since: Date?) {
        guard link.becomeStale(since: since) else { return }
        watchlist.freshnessChanged()
        me.freshnessChanged()
    }

    // MARK: Answers

    private mutating func subscribed(_ request: Request?) {
        switch request {
        case .subscribe(let users): watchlist.answered(users)
        case .subscribeConversation(let conversation): watchlist.answered(conversation)
        default: break
        }
    }

    private mutating func accept(_ request: Request?) {
        switch request {
        case .status(let pending): answer(pending, .success(.done))
        case .typing(_, let call?), .stopTyping(let call), .changeVisibility(let call): answer(call, .success(.done))
        default: break
        }
    }

    /// The lists come in parts, one after the other.
    private mutating func readVisibility(_ id: Int64?, _ part: VisibilityLists, more: Bool) {
        guard let id, case .readVisibility(var lists, let call) = requests[id] else { return }
        lists.visibility = part.visibility
        lists.contacts += part.contacts
        lists.blocks += part.blocks
        if more { return requests.update(id, .readVisibility(lists, call)) }
        _ = requests.take(id)
        let visibility = MyVisibility(
            presence: lists.visibility.presence, lastSeen: lists.visibility.lastSeen,
            contacts: lists.contacts.map(\.string), blocked: lists.blocks.map(\.string))
        answer(call, .success(.visibility(visibility)))
    }

    private mutating func saved(_ request: Request?, _ profile: Profile) {
        switch request {
        case .updateProfile(let changes, _, let call):
            me.supersede(changes)
            let saved = PersonProfile(user: me.id?.string ?? "", .profile(profile), freshness: .live)
            answer(call, .success(.profile(.saved(saved))))
        case .keptProfile: me.acknowledgeKept()
        default: break
        }
    }

    private mutating func created(_ request: Request?, _ conversation: ServerMessage.Conversation) {
        guard case .createConversation(_, let call) = request else { return }
        let made = Conversation(id: conversation.id.string, participants: conversation.participants.map(\.string))
        answer(call, .success(.conversation(made)))
    }

    // MARK: Refusals

    /// What the server will not or cannot do.
    private mutating func refuse(_ request: Request?, _ error: PresenceError, at now: Moment) {
        switch request {
        case .connect(_, let status): refuseConnect(status, error, at: now)
        case .refresh: link.refreshed(false)
        case .subscribe(let users): watchlist.refuse(users, error, at: now.uptime)
        case .subscribeConversation(let conversation): watchlist.refuse(conversation, error, at: now.uptime)
        case .get(_, let call): refuseLookup(call, error)
        case .status(let pending): answer(pending, .failure(error))
        case .updateProfile(let changes, .keep, let call) where error.isPassing:
            me.keep(changes, until: now.uptime + error.delay)
            answer(call, .success(.profile(.kept)))
        case .createConversation(let creation, let call)
        where error.isPassing && (error.outcomeUnknown || creation.isRepeated):
            calls.repeatLater(creation, call, due: now.uptime + error.delay)
        case .updateProfile(_, _, let call), .createConversation(_, let call), .stopTyping(let call),
            .changeVisibility(let call), .readVisibility(_, let call):
            answer(call, .failure(error))
        case .keptProfile: send(me.refuseKept(error, at: now.uptime))
        case .typing(let conversation, let call):
            if !error.isPassing { _ = me.stopTyping(in: conversation) }
            if let call { answer(call, .failure(error)) }
        case .unsubscribe, .probe, nil: break
        }
    }
}
