import PresenceProtocol

// What the server will not or cannot do.
extension Session {
    mutating func refuse(_ message: ServerMessage.ErrorMessage, at now: Moment) {
        let error = PresenceError(message)
        guard let id = message.id, let request = requests.removeValue(forKey: id) else { return }
        switch request {
        case .connect(_, let status): refuseConnect(status, error, at: now)
        case .refresh: refreshed(false)
        case .subscribe(let users):
            for user in users where people[user]?.watch.stage == .asked {
                people[user]!.watch.stage = stage(after: error, at: now)
                if error.isPassing || people[user]!.watch.loops == 0 { unsettledPeople.insert(user) }
                touch(user)
            }
        case .follow(let conversation):
            guard conversations[conversation]?.watch.stage == .asked else { return }
            conversations[conversation]!.watch.stage = stage(after: error, at: now)
            if error.isPassing || conversations[conversation]!.watch.loops == 0 {
                unsettledConversations.insert(conversation)
            }
            touch(conversation: conversation)
        case .get(_, let call): failReading(call, error)
        case .status(let pending): pending.calls.forEach { answer($0, .failure(error)) }
        case .updateProfile(let changes, .keep, let call) where error.isPassing:
            profileQueue.append(changes)
            profileQueue.postpone(until: now.uptime + error.delay)
            keptProfileChanged()
            answer(call, .success(.profile(.kept)))
        case .readVisibility(_, let call): answer(call, .failure(error))
        case .createConversation(let creation, let call)
        where error.isPassing && (error.outcomeUnknown || creation.isRepeated):
            repeatLater(creation, call, due: now.uptime + error.delay)
        case .updateProfile(_, _, let call), .createConversation(_, let call), .stopTyping(let call),
            .changeVisibility(let call):
            answer(call, .failure(error))
        case .keptProfile:
            if error.isPassing {
                profileQueue.postpone(until: now.uptime + error.delay)
            } else {
                profileQueue.refuse(error)
                sendKeptProfile(at: now)
            }
            keptProfileChanged()
        case .typing(let conversation, let call):
            if !error.isPassing { _ = ownTyping.stop(conversation) }
            if let call { answer(call, .failure(error)) }
        case .unsubscribe, .probe: break
        }
    }

    private mutating func refuseConnect(_ status: PendingStatus?, _ error: PresenceError, at now: Moment) {
        let isAboutStatus = error.field == "status" || error.field?.hasPrefix("status.") == true
        if isAboutStatus, let status {
            status.calls.forEach { answer($0, .failure(error)) }
            return introduce(with: nil, at: now)
        }
        if let status { choose(status) }
        rejection = error
        // After `unauthorized` the server closes by itself, with a code.
        if error.code != .unauthorized { hangUp(.rejected(error), at: now) }
    }

    /// Where a refused subscription goes.
    private mutating func stage(after error: PresenceError, at now: Moment) -> Watch.Stage {
        subscriptions -= 1
        return error.isPassing ? .later(now.uptime + error.delay) : .refused(error, room: false)
    }
}

extension PresenceError {
    init(_ message: ServerMessage.ErrorMessage) {
        self.init(
            Code(message.code), message.message, field: message.field,
            retryAfter: message.retryAfter.map { .milliseconds($0) }, outcomeUnknown: message.outcomeUnknown)
    }

    /// Whether the same request may be answered later.
    var isPassing: Bool {
        switch code {
        case .badRequest, .unknownType, .forbidden, .validationFailed, .conflict: false
        // Of some numbers the server says when there may be room: of a user's connections, which come and go.
        case .tooMany: retryAfter != nil
        default: true
        }
    }

    /// How long to wait before the same request is made again; never so short that it becomes a flood.
    var delay: Duration { max(retryAfter ?? .seconds(1), .milliseconds(100)) }
}
