import PresenceProtocol

/// Handles clients' messages.
extension ShardLogic {
    package var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            maxMessageBytes: configuration.limits.maxMessageBytes,
            maxServerMessageBytes: configuration.limits.maxServerMessageBytes,
            subscriptions: configuration.limits.subscriptions, subscribeBatch: configuration.limits.subscribeBatch)
    }

    /// - Returns: Whether the message's turn has come: if not, nothing was done, and the caller holds it.
    package func handle(_ bytes: UnsafeRawBufferPointer, on connection: Connection) -> Bool {
        var id: Int64?
        var needsSession = false
        do throws(DecodingFailure) {
            let members: ClientMembers
            (members, id) = try ClientMembers.scan(bytes)
            let type = try members.requestType()
            needsSession = !type.equals("connect")
            let request = try registry.request(of: type)
            guard connection.lane.admits(request.order) || letsRequestsPass else {
                // Marks that are being collected do not wait for anything else.
                replies.hurry(connection)
                return false
            }
            try traceRequest(id, of: connection, type: type) { () throws(DecodingFailure) in
                try request.handle(self, members, id, connection, bytes.count)
            }
        } catch {
            let id = error.id ?? id
            let tokens = RequestPrice.of(bytes: bytes.count, or: 1)
            guard admits(connection, id, tokens: tokens, of: connection.session?.user.id) else { return true }
            if connection.session == nil, needsSession {
                refuseUnconnected(connection, id)
            } else {
                refuse(error.errorMessage.with(id: id), on: connection)
            }
        }
        return true
    }

    func refuseUnconnected(_ connection: Connection, _ id: Int64?) {
        refuse(.init(id: id, code: .unauthorized, message: "connect first"), on: connection)
    }

    /// Replies with an error in its turn; the tenth `bad_request` closes the connection.
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
