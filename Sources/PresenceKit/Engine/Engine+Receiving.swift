import Foundation
import PresenceProtocol

// Messages from the server.
extension Engine {
    mutating func receive(_ bytes: [UInt8], at now: Moment) {
        do throws(DecodingFailure) {
            let message = try ServerMessage.decode(bytes)
            if answerOther(message, bytes, at: now) { return }
            if case .unknown("contactRequests", _, _) = message {
                if !me.requests.hear(bytes) {
                    emit(.log(.notice, "contact requests that cannot be read are not shown"))
                }
                return
            }
            if case .unknown(let type, _, _) = message { return emit(.handOver(type: type, bytes)) }
            receive(message, at: now)
        } catch {
            // The message may have contained a change. Only a new connection restores a known state.
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
        case .error(let error) where error.id == nil && error.code == .badRequest:
            requests.suspectAll()
        // The close that follows has no room for every reason.
        case .error(let error) where error.id == nil && error.code == .banned: link.reject(PresenceError(error))
        case .error(let error): refuse(requests.take(error.id), PresenceError(error), at: now)
        case .ok(let id): accept(requests.take(id))
        case .refreshed(let id):
            _ = requests.take(id)
            link.refreshed(true)
        case .unsubscribed(let id): _ = requests.take(id)
        case .profileUpdated(let id, let profile): saved(id, profile)
        case .conversationCreated(let id, let conversation): created(requests.take(id), conversation)
        case .visibility(let id, let lists, let more): readVisibility(id, lists, more: more)
        case .ownVisibility(let visibility): me.hold(Me.Audiences(visibility))
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
        case .status(let status): me.choice.acknowledge(status)
        case .changeVisibility(_, let call): answer(call, .success(.done))
        default: break
        }
    }

    /// The lists come in parts, one after the other.
    private mutating func readVisibility(_ id: Int64?, _ part: VisibilityLists, more: Bool) {
        guard let id, let request = requests[id] else { return }
        switch request {
        case .readVisibility(var lists, let call):
            lists.append(part)
            if more { return requests.update(id, .readVisibility(lists, call)) }
            answer(call, .success(.visibility(Me.Visibility(lists))))
        case .ownVisibility(var lists):
            lists.append(part)
            if more { return requests.update(id, .ownVisibility(lists)) }
            let own = OwnVisibility(
                visibility: lists.visibility, contacts: lists.contacts.count, blocks: lists.blocks.count)
            me.hold(Me.Audiences(own))
        default: return
        }
        _ = requests.take(id)
    }

    private mutating func saved(_ id: Int64?, _ profile: Profile) {
        // Pending changes are shown until they are saved, so the shown profile must have them by then.
        if let user = me.id { watchlist.apply(.profile(profile), to: user, nil) }
        switch requests.take(id) {
        case .updateProfile(let changes, _, let call):
            if let id { requests.supersede(changes, sentAfter: id) }
            me.profile.supersede(KeptProfile(changes: changes, number: call.number))
            let held = PersonProfile(user: me.id?.string ?? "", .profile(profile), freshness: .live)
            me.profile.hold(call, .profile(.saved(held)))
        case .keptProfile(let changes): me.profile.acknowledge(changes)
        default: break
        }
    }

    private mutating func created(_ request: Request?, _ conversation: ServerMessage.Conversation) {
        guard case .createConversation(_, let call) = request else { return }
        let made = Conversation(id: conversation.id.string, participants: conversation.participants.map(\.string))
        answer(call, .success(.conversation(made)))
    }

    // MARK: Refusals

    /// The server rejected a request or could not carry it out.
    mutating func refuse(_ request: Request?, _ error: PresenceError, at now: Moment) {
        switch request {
        case .connect(_, let status): refuseConnect(status, error, at: now)
        case .refresh: link.refreshed(false)
        case .subscribe(let users): watchlist.refuse(users, error, at: now.uptime)
        case .subscribeConversation(let conversation):
            watchlist.refuse(conversation, calls.turn(of: error, at: now.uptime), at: now.uptime)
        case .get(_, let calls): refuseLookups(calls, error, at: now)
        // A queued status is sent again as soon as the server can accept it.
        case .status(let status)
        where error.code == .rateLimited || me.choice.isPromised(status) && error.isPassing:
            me.choice.postpone(status, until: now.uptime + error.delay)
        case .status(let status): refuse(status, error)
        case .updateProfile(let changes, .fail, let call) where error.code == .rateLimited:
            calls.pace(.updateProfile(changes, .fail, call), call, error, at: now.uptime)
        case .changeVisibility(let body, let call) where error.code == .rateLimited:
            calls.pace(Outgoing(body, .changeVisibility(body, call)), call, error, at: now.uptime)
        case .readVisibility(_, let call) where error.code == .rateLimited:
            let message = Outgoing(.getVisibility, .readVisibility(VisibilityLists(), call))
            calls.pace(message, call, error, at: now.uptime)
        case .createConversation(let creation, let call) where error.code == .rateLimited && !creation.isRepeated:
            calls.pace(creation.message(for: call), call, error, at: now.uptime)
        case .updateProfile(let changes, .queue, let call) where error.isPassing:
            queue(changes, for: call)
            me.profile.postpone(until: now.uptime + error.delay)
        case .createConversation(let creation, let call)
        where error.isPassing && (error.outcomeUnknown || creation.isRepeated):
            calls.repeatLater(creation, call, due: now.uptime + error.delay)
        case .updateProfile(_, _, let call), .createConversation(_, let call), .changeVisibility(_, let call),
            .readVisibility(_, let call):
            answer(call, .failure(error))
        // Only the request's library knows whether the request is still wanted by then.
        case .other(_, let call, _): answer(call, .failure(calls.turn(of: error, at: now.uptime)))
        case .keptProfile(let changes) where error.isPassing:
            me.profile.postpone(changes, until: now.uptime + error.delay)
        case .keptProfile(let changes): _ = me.profile.refuse(changes, error)
        case .typing(let conversation):
            if !error.isPassing { _ = me.stopTyping(in: conversation) }
            emit(.log(.notice, "typing is not shown: \(error)"))
        case .unsubscribe, .ownVisibility, .probe, nil: break
        }
    }
}

extension Engine {
    /// The server rejected a chosen status.
    mutating func refuse(_ status: WriteLane<PendingStatus>.Ticket, _ error: PresenceError) {
        guard let choice = me.choice.refuse(status, error) else { return }
        if choice.isPromised { emit(.log(.error, "a status that was queued is refused: \(error)")) }
        for call in choice.calls { answer(call, .failure(error)) }
    }
}

extension VisibilityLists {
    fileprivate mutating func append(_ part: VisibilityLists) {
        visibility = part.visibility
        contacts += part.contacts
        blocks += part.blocks
    }
}

extension Me.Visibility {
    fileprivate init(_ lists: VisibilityLists) {
        self.init(
            presence: Audience(lists.visibility.presence), lastSeen: Audience(lists.visibility.lastSeen),
            receipts: lists.visibility.receipts.map { Audience($0) } ?? .everyone,
            findable: lists.visibility.findable.map { Audience($0) } ?? .everyone,
            conversationsFrom: lists.visibility.conversationsFrom.map { Audience($0) } ?? .everyone,
            contacts: lists.contacts.map(\.string), blocked: lists.blocks.map(\.string))
    }
}

extension Me.Audiences {
    fileprivate init(_ own: OwnVisibility) {
        self.init(
            presence: Audience(own.visibility.presence), lastSeen: Audience(own.visibility.lastSeen),
            receipts: own.visibility.receipts.map { Audience($0) } ?? .everyone,
            findable: own.visibility.findable.map { Audience($0) } ?? .everyone,
            conversationsFrom: own.visibility.conversationsFrom.map { Audience($0) } ?? .everyone,
            contactsCount: own.contacts, blockedCount: own.blocks)
    }
}
