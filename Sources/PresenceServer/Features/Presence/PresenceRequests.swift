import PresenceCore
import PresenceProtocol
import WebSockets

/// Users' requests about their own presence: the status they choose, and their activity on a device.
final class PresenceRequests: Feature {
    static let plan = FeaturePlan(name: "presence", isOptional: false, scripts: [.status, .lapse])

    private unowned let shard: ShardLogic
    private var ownStatus: OwnMessages = []

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.request(
            "status", order: .immediate,
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.status(members) }
        ) {
            [unowned self] change, context in choose(change, context)
        }
        registry.request(
            "activity", order: .immediate,
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.activity(members) }
        ) { [unowned self] activity, context in set(activity, context) }
        registry.event("O") { [unowned shard] in shard.sessions.handle(ownStatus: $0) }
        registry.statusKnown.append { [unowned self] in statusKnown(of: $0) }
        ownStatus = registry.ownMessage { [unowned self] in ownStatusFrame(of: $0) }
    }

    private func choose(_ change: StatusChange, _ context: RequestContext) {
        shard.write(context.connection, context.id) { done in
            shard.sessions.choose(change, by: context.session, done: done)
        } succeeded: { [unowned shard] _ in
            shard.replies.ok(context.id, to: context.connection)
        }
    }

    /// `ok` means that Redis has stored the activity. After an error the server repeats the write itself, because the
    /// error does not change the client's state.
    private func set(_ activity: Activity, _ context: RequestContext) {
        let (shard, connection) = (shard, context.connection)
        let reply = shard.replies.expect(on: connection)
        shard.sessions.change(context.session, to: activity) { [unowned shard] isStored in
            shard.replies.fulfil(reply, on: connection) { [unowned shard] in
                if isStored { return shard.replies.ok(context.id, to: connection) }
                shard.replies.error(
                    .init(
                        id: context.id, code: .unavailable,
                        message: "the store has not stored this yet; the server will retry", retryAfter: 1_000,
                        outcomeUnknown: true),
                    to: connection)
            }
        }
    }

    // MARK: Messages to the user's own connections

    /// Sends the chosen status to those of the user's connections that last received another status, or none.
    private func statusKnown(of user: LocalUser) {
        for case let connection? in user.sessions.map(\.connection)
        where connection.isGreeted && connection.toldStatus != user.chosen {
            shard.watchers.markMail(connection, ownStatus)
        }
    }

    private func ownStatusFrame(of connection: Connection) -> [UInt8] {
        guard let chosen = connection.session?.user.chosen, chosen != connection.toldStatus else { return [] }
        connection.toldStatus = chosen
        var payload: [UInt8] = []
        ServerMessageWriter.ownStatus(OwnStatus(chosen), to: &payload)
        return WebSocketFrame.text(payload)
    }
}
