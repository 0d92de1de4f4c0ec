import PresenceProtocol

/// What each message of a client does.
extension ShardLogic {
    var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            maxMessageBytes: configuration.limits.maxMessageBytes,
            maxServerMessageBytes: configuration.limits.maxServerMessageBytes,
            subscriptions: configuration.limits.subscriptions, subscribeBatch: configuration.limits.subscribeBatch)
    }

    package func handle(_ bytes: UnsafeRawBufferPointer, on connection: Connection) {
        var id: Int64?
        var needsSession = false
        do throws(DecodingFailure) {
            let members: ClientMembers
            (members, id) = try ClientMembers.scan(bytes)
            let type = try members.requestType()
            needsSession = !type.equals("connect")
            let handle = try registry.request(of: type)
            try follow(id, of: connection, type: type) { () throws(DecodingFailure) in
                try handle(self, members, id, connection)
            }
        } catch {
            let id = error.id ?? id
            guard admits(connection, id, tokens: 1, of: connection.session?.user.id) else { return }
            if connection.session == nil, needsSession { return refuseUnconnected(connection, id) }
            refuse(error.errorMessage.with(id: id), on: connection)
        }
    }

    func refuseUnconnected(_ connection: Connection, _ id: Int64?) {
        refuse(.init(id: id, code: .unauthorized, message: "connect first"), on: connection)
    }

    /// Answers with an error in its turn; the tenth `bad_request` closes.
    package func refuse(_ error: ServerMessage.ErrorMessage, on connection: Connection) {
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
