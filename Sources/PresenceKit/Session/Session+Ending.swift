import Foundation
import PresenceProtocol

// How a connection ends, and what becomes of what belonged to it.
extension Session {
    /// The connection, or the attempt to make one, is over.
    mutating func end(_ ending: Ending, at now: Moment) {
        switch phase {
        case .idle, .closed, .waiting: return
        case .fetchingToken, .dialling, .introducing, .connected: break
        }
        // A close after a refused `connect` says less than the refusal did.
        var ending = ending
        if let rejection {
            ending =
                rejection.code == .unauthorized
                ? .closed(code: .unauthorized, reason: []) : .rejected(rejection)
        }
        if ending.refusesToken { token = nil }

        drop(at: now)
        let verdict = reconnection.verdict(
            on: ending, at: now.uptime, freshToken: tokenIsFresh, random: random())
        switch verdict {
        case .again(let delay):
            enter(.waiting(until: now.uptime + delay, for: delay, because: ending.error))
            failWhatCannotWait()
        case .never(let error):
            close(error, at: now)
        }
    }

    /// Makes no further attempt until the app asks.
    mutating func close(_ error: PresenceError?, at now: Moment) {
        drop(at: now)
        attempt += 1
        enter(.closed(error))
        failWhatCannotWait()
        failStatus(whyAway)
    }

    /// Whatever belonged to the connection goes: what is shown becomes stale, requests fail or wait to be repeated. With
    /// `abandoning` all requests fail with that error.
    mutating func drop(at now: Moment, abandoning error: PresenceError? = nil) {
        let date = serverStaleSince ?? clock.date(at: Moment(uptime: lastHeard, wall: now.wall))
        let wasConnected = isConnected
        subscriptions = 0
        for user in people.keys {
            if people[user]!.lose(at: date) {
                uncached.insert(user)
                touch(user)
            }
            if people[user]!.watch.loops == 0 { unsettledPeople.insert(user) }
        }
        for conversation in conversations.keys {
            if conversations[conversation]!.lose(at: date) { touch(conversation: conversation) }
            if conversations[conversation]!.watch.loops == 0 { unsettledConversations.insert(conversation) }
        }
        if wasConnected, ownStatus != nil {
            ownStatusStaleSince = date
            ownStatusStamp = nextStamp()
            wakeLoops(on: .ownStatus)
        }
        serverStaleSince = nil
        hasPinged = false
        profileQueue.requeue()
        let lost = requests.sorted { $0.key < $1.key }
        requests = [:]
        // Nothing chosen later may be overwritten by what is repeated: the present choice goes on top.
        let newest = pendingStatus
        pendingStatus = nil
        for (_, request) in lost { if let error { abandon(request, error) } else { lose(request) } }
        if let newest { choose(newest) }
    }

    /// Leaves without the server taking it for a goodbye, and comes back at once.
    mutating func reconnectNow(at now: Moment) {
        switch phase {
        case .idle, .closed, .fetchingToken: return
        case .dialling, .introducing, .connected:
            say(.abort)
            drop(at: now)
        case .waiting: break
        }
        reconnection.reset()
        start(at: now)
    }

    /// The app leaves.
    mutating func disconnect(at now: Moment) {
        sayGoodbye()
        close(nil, at: now)
    }

    private var hasTransport: Bool {
        switch phase {
        case .dialling, .introducing, .connected: true
        case .idle, .fetchingToken, .waiting, .closed: false
        }
    }

    mutating func sayGoodbye() {
        if isConnected { send(.disconnect) }
        if hasTransport { say(.close) }
    }
}

extension Ending {
    fileprivate var refusesToken: Bool {
        switch self {
        case .closed(.unauthorized, _), .closed(.tokenExpired, _), .closed(.noConnect, _), .refused(401),
            .refused(403):
            true
        case .closed, .lost, .refused, .silent, .rejected, .noToken, .nonsense: false
        }
    }
}
