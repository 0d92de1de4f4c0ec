import PresenceProtocol

/// What each message of a client does.
extension ShardLogic {
    var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            maxMessageBytes: configuration.limits.maxMessageBytes,
            maxServerMessageBytes: configuration.limits.maxServerMessageBytes,
            subscriptions: configuration.limits.subscriptions, subscribeBatch: configuration.limits.subscribeBatch)
    }

    func handle(_ bytes: UnsafeRawBufferPointer, on connection: Connection) {
        let message: ClientMessage
        do throws(DecodingFailure) {
            message = try ClientMessage.decode(bytes, limits: connectionLimits)
        } catch {
            guard admits(connection, error.id, tokens: 1, of: connection.session?.user.id) else { return }
            var answer = error.errorMessage
            if connection.session == nil, error.code == .unknownType {
                answer = .init(id: error.id, code: .unauthorized, message: "connect first")
            }
            return refuse(answer, on: connection)
        }
        guard admits(connection, message.id, tokens: message.body.tokens, of: connection.session?.user.id) else {
            return
        }
        if case .connect(let connect) = message.body {
            return self.connect(connection, message.id, connect)
        }
        guard let session = connection.session else {
            return refuse(.init(id: message.id, code: .unauthorized, message: "connect first"), on: connection)
        }
        switch message.body {
        case .connect: break
        case .refresh(let token): refresh(connection, message.id, token)
        case .subscribe(let subscribe): self.subscribe(connection, message.id, subscribe)
        case .unsubscribe(let users, let conversations): unsubscribe(connection, message.id, users, conversations)
        case .get(let users): get(connection, message.id, users)
        case .status(let change): choose(connection, session, message.id, change)
        case .activity(let activity): change(connection, session, message.id, activity)
        case .updateProfile(let changes): updateProfile(connection, session, message.id, changes)
        case .createConversation(let participants, let key):
            createConversation(connection, session, message.id, participants, key)
        case .typing(let conversation, let typing): type(connection, session, message.id, conversation, typing)
        case .setVisibility(let change): setVisibility(connection, session, message.id, change)
        case .getVisibility: getVisibility(connection, session, message.id)
        case .addContacts(let users): change(.contacts, connection, session, message.id, .init(add: users))
        case .removeContacts(let users): change(.contacts, connection, session, message.id, .init(remove: users))
        case .block(let users): change(.blocks, connection, session, message.id, .init(add: users))
        case .unblock(let users): change(.blocks, connection, session, message.id, .init(remove: users))
        case .disconnect:
            replies.now(on: connection) { [self] in
                replies.ok(message.id, to: connection)
                close(connection, .normal)
            }
        }
    }

    /// Answers with an error in its turn; the tenth `bad_request` closes.
    func refuse(_ error: ServerMessage.ErrorMessage, on connection: Connection) {
        replies.now(on: connection) { [self] in
            replies.error(error, to: connection)
            guard error.code == .badRequest else { return }
            connection.badRequests += 1
            if connection.badRequests >= configuration.limits.badRequests {
                close(connection, .policyViolation, reason: "too many bad requests")
            }
        }
    }
}
