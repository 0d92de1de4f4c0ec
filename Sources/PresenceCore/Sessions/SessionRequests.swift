import PresenceProtocol

/// Connecting, refreshing and disconnecting, over WebSockets and HTTP. `Sessions` has the sessions themselves.
package final class SessionRequests: Feature {
    package static let plan = FeaturePlan(
        name: "sessions", isOptional: false, scripts: [.open, .assert, .end, .activity, .disconnect, .revoke])

    private unowned let shard: ShardLogic

    package init(_ shard: ShardLogic) { self.shard = shard }

    package func register(in registry: inout Registry) {
        let shard = shard
        registry.opening("connect", decode: ClientRequest.connect) { [unowned shard] request, connection, id in
            shard.connect(connection, id, request)
        }
        registry.request(
            "refresh", order: .immediate,
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.refresh(members) }
        ) {
            [unowned shard] token, context in
            shard.refresh(context.connection, context.id, token)
        }
        // Disconnecting costs nothing, since it frees resources.
        registry.request(
            "disconnect", order: .immediate, price: { _ in 0 }, decode: { (_, _) throws(DecodingFailure) in }
        ) {
            [unowned shard] _, context in
            shard.replies.now(on: context.connection) {
                shard.replies.ok(context.id, to: context.connection)
                shard.close(context.connection, .normal)
            }
        }
        registry.event("X", offers: true) { [unowned shard] in shard.sessions.handle(replaced: $0) }
        registry.event("D", offers: true) { [unowned shard] in shard.sessions.handle(disconnected: $0) }
        registry.event("R", offers: true) { [unowned shard] in shard.sessions.handle(revoked: $0) }
        registry.event("K", offers: true) { [unowned shard] in shard.sessions.handle(banned: $0) }
        registry.event("G", offers: true) { [unowned shard] in shard.sessions.handle(signedOut: $0) }
        registry.event("Q") { [unowned shard] in shard.sessions.handle(question: $0) }
        registerRoutes(in: &registry)
    }

    private func registerRoutes(in registry: inout Registry) {
        let shard = shard
        registry.route(
            "POST", "/v1/users/{id}/disconnect", scope: .usersWrite,
            answer: { [unowned shard] (call) async throws(Refusal) in
                let reply = try await shard.run(shard.disconnecting(call.ids[0]))
                return .json(200, #"{"disconnected":\#(reply.rest.last?.int ?? 0)}"#)
            })
        registry.route(
            "POST", "/v1/users/{id}/revokeTokens", scope: .usersWrite,
            answer: { [unowned shard] (call) async throws(Refusal) in
                let reply = try await shard.run(shard.revokingTokens(of: call.ids[0]))
                let (sessions, notBefore) = (reply.count > 1 ? reply[0].int : nil, reply.rest.last?.int ?? 0)
                // The first whole second that is entirely after the revocation: an `iat` without a fraction may mean
                // any moment of its second.
                return .json(
                    200,
                    #"{"disconnected":\#(sessions ?? 0),"notBefore":\#(notBefore),"#
                        + #""notBeforeSeconds":\#((notBefore + 999) / 1_000)}"#)
            })
    }
}
