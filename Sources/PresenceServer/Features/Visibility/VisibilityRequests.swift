import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Who may see a user: what users, and backends for them, ask and say about it. What follows for watchers is in `Policies`.
final class VisibilityRequests: Feature {
    static let plan = FeaturePlan(name: "visibility", isOptional: false, scripts: [.visibility])

    private unowned let shard: ShardLogic
    private var ownVisibility: OwnMessages = []
    /// Told of each change of who may see somebody, of this shard or not.
    var onChange: [(StoreEvent) -> Void] = []
    /// What a `visibility` message has beside its ids, at most.
    private static let overhead = 256

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.request(
            "setVisibility",
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.setVisibility(members) }
        ) { [unowned self] change, context in
            answer(context) { self.change(context.user, change, by: context.writer, done: $0) }
        }
        registry.request(
            "getVisibility", order: .question, mayBeLong: { _ in true }, decode: { (_, _) throws(DecodingFailure) in }
        ) { [unowned self] _, context in get(context) }
        list("addContacts", .contacts, { ListChange(add: $0) }, in: &registry)
        list("removeContacts", .contacts, { ListChange(remove: $0) }, in: &registry)
        list("block", .blocks, { ListChange(add: $0) }, in: &registry)
        list("unblock", .blocks, { ListChange(remove: $0) }, in: &registry)
        registry.event("V") { [unowned self] event in
            shard.policies.handle(event)
            for told in onChange { told(event) }
        }
        ownVisibility = registry.ownMessage { [unowned self] in ownVisibilityFrame(of: $0) }
        registerRoutes(in: &registry)
    }

    private func list(
        _ name: String, _ list: PolicyList, _ change: @escaping ([UserID]) -> ListChange, in registry: inout Registry
    ) {
        registry.request(
            name, price: { RequestPrice.ids($0.count) },
            decode: { (members, limits) throws(DecodingFailure) in
                try ClientRequest.listed(members, limits, in: name)
            }
        ) { [unowned self] users, context in
            answer(context) {
                shard.policies.change(
                    context.user, list: list, change(users), by: context.writer, decided: context.turn.decided, done: $0
                )
            }
        }
    }

    /// What is said of receipts concerns the user's conversations, and comes afterwards.
    ///
    /// - Parameter done: Gets what the first script says, or what went wrong: once that has changed something, the outcome of the
    ///   whole is unknown.
    func change(_ user: UserID, _ change: VisibilityChange, by writer: Writer? = nil, done: @escaping StoreReply) {
        shard.policies.change(user, change, by: writer) { [unowned self] result in
            guard let receipts = change.receipts, let talks = shard.feature(Conversations.self),
                (try? result.get())?.array?.first?.string == "OK"
            else { return done(result) }
            talks.receipts.set(receipts == .everyone, of: user, by: writer) { after in
                if (try? after.get())?.array?.first?.string == "OK" { return done(result) }
                // The rest has been changed, also if this is only refused for a moment.
                let isPartly = change.presence != nil || change.lastSeen != nil
                let isRefused = after.failure.map { !$0.isLasting } ?? false
                done(isPartly && isRefused ? .failure(.disconnected(sent: true)) : after)
            }
        }
    }

    /// Runs a change and answers `ok`.
    private func answer(_ context: RequestContext, _ run: (@escaping StoreReply) -> Void) {
        shard.write(context.connection, context.id, run: run) { [unowned shard] _ in
            shard.replies.ok(context.id, to: context.connection)
        }
    }

    private func get(_ context: RequestContext) {
        shard.write(context.connection, context.id, changes: false) { done in
            read(context.user, done: done)
        } succeeded: { [unowned shard] words in
            guard let read = PolicyRead(.array(words)), !read.head.isDamaged else {
                shard.noteDamage("visibility", of: context.user)
                return shard.replies.error(.damagedRecord(context.id), to: context.connection)
            }
            let parts = read.lists.parts(bytes: shard.configuration.limits.maxServerMessageBytes - Self.overhead)
            for (number, part) in parts.enumerated() {
                var payload: [UInt8] = []
                ServerMessageWriter.visibility(id: context.id, part, more: number < parts.count - 1, to: &payload)
                shard.replies.send(payload, to: context.connection)
            }
        }
    }

    /// Who may see a user, with both lists, from Redis.
    func read(_ user: UserID, done: @escaping StoreReply) {
        shard.policies.read(user, all: true, reply: done)
    }

    // MARK: What the user's own connections are told

    func visibilityKnown(of user: LocalUser) {
        for case let connection? in user.sessions.map(\.connection) {
            connection.ownMessages.insert(ownVisibility)
            shard.watchers.markMail(connection)
        }
    }

    private func ownVisibilityFrame(of connection: Connection) -> [UInt8] {
        // Before `connected`, which is the first thing that a client hears, nothing is said.
        guard connection.isGreeted, let user = connection.session?.user.id else { return [] }
        var payload: [UInt8] = []
        let head = shard.policies[user]?.head
        guard head?.isDamaged != true else { return [] }
        ServerMessageWriter.ownVisibility(head?.own ?? OwnVisibility(), to: &payload)
        return WebSocketFrame.text(payload)
    }
}

extension PolicyRead {
    /// In the order of their ids: the store's own means nothing.
    var lists: VisibilityLists {
        VisibilityLists(visibility: head.visibility, contacts: contacts.sorted(), blocks: blocks.sorted())
    }
}
