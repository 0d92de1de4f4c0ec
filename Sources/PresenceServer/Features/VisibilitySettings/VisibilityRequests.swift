import Installation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The requests of users, and of backends for them, that decide by whom a user is seen. `VisibilityPolicies` has the effects on watchers.
final class VisibilityRequests: Feature {
    static let mostContacts = Setting<Int>(
        "limits.contacts", 10_000, in: 1...1_000_000, about: "Contacts of one user.")
    static let mostBlocks = Setting<Int>(
        "limits.blocks", 10_000, in: 1...1_000_000,
        about: "Users that one user may block; the list is always in memory like that.")
    /// The most contacts and blocks of one user together: Redis replies with both at once, and a reply of more than
    /// 1,048,576 elements (`AnswerObjects.longestArray`) would end the connection.
    static let longestLists = 1_000_000

    static let plan = FeaturePlan(
        name: "visibility", isOptional: false, scripts: [.visibility], settings: [mostContacts, mostBlocks],
        check: { (configuration) throws(InvalidConfiguration) in
            let (contacts, blocks) = (configuration[mostContacts], configuration[mostBlocks])
            guard contacts + blocks <= longestLists else {
                throw .of(
                    mostContacts,
                    "is \(contacts), but must come to at most \(longestLists) with limits.blocks "
                        + "(\(blocks)): Redis answers with both lists at once")
            }
        })

    private unowned let shard: ShardLogic
    private var ownVisibility: OwnMessages = []
    /// Called with each change of a user's policy, made on this shard or another.
    var onChange: [(StoreEvent) -> Void] = []
    /// An upper bound for a `visibility` message without its ids, in bytes.
    private static let overhead = 256

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.visibilityKnown.append { [unowned self] in visibilityKnown(of: $0) }
        registry.request(
            "setVisibility",
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.setVisibility(members) },
            answer: { [unowned self] (change, context) async throws(Refusal) in
                _ = try await self.change(context.user, change, by: context.writer)
                return .ok
            })
        registry.request(
            "getVisibility", order: .question, mayBeLong: { _ in true }, decode: { (_, _) throws(DecodingFailure) in },
            answer: { [unowned self] (_, context) async throws(Refusal) in try await get(context) })
        list("addContacts", .contacts, { ListChange(add: $0) }, in: &registry)
        list("removeContacts", .contacts, { ListChange(remove: $0) }, in: &registry)
        list("block", .blocks, { ListChange(add: $0) }, in: &registry)
        list("unblock", .blocks, { ListChange(remove: $0) }, in: &registry)
        registry.event("V") { [unowned self] event in
            shard.policies.handle(event)
            for notify in onChange { notify(event) }
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
            },
            answer: { [unowned self] (users, context) async throws(Refusal) in
                _ = try await shard.reply {
                    shard.policies.change(
                        context.user, list: list, most: most(of: list), change(users), by: context.writer,
                        decided: context.turn.decided,
                        done: $0)
                }.accepted(or: VisibilityRefusal.self)
                changed(list, of: context.user)
                return .ok
            })
    }

    /// A block ends what the user has asked, also on the other side.
    func changed(_ list: PolicyList, of user: UserID) {
        if list == .blocks { shard.feature(ContactRequests.self)?.asking.begin(user) }
    }

    func most(of list: PolicyList) -> Int {
        shard.configuration[list == .blocks ? Self.mostBlocks : Self.mostContacts]
    }

    /// The setting of receipts concerns the user's conversations, and is changed after the rest.
    ///
    /// - Returns: the reply of the first script.
    func change(
        _ user: UserID, _ change: VisibilityChange, by writer: Writer? = nil
    ) async throws(Refusal) -> ScriptReply {
        let reply = try await shard.reply { shard.policies.change(user, change, by: writer, done: $0) }
            .accepted(or: VisibilityRefusal.self)
        guard let receipts = change.receipts, let talks = shard.feature(Conversations.self) else { return reply }
        do throws(Refusal) {
            try await talks.receipts.set(receipts == .everyone, of: user, by: writer)
        } catch  where error.message.code == .unavailable && change.hasMoreThanReceipts {
            // The rest has been changed, so for the client the outcome is unknown, even if this part is only refused
            // for now.
            var refusal = error
            refusal.message = Refusal(.disconnected(sent: true), changes: true).message
            throw refusal
        }
        return reply
    }

    private func get(_ context: RequestContext) async throws(Refusal) -> Answer {
        let lists = try await lists(of: context.user)
        return Answer { [self] context in
            let parts = lists.parts(bytes: shard.configuration.limits.maxServerMessageBytes - Self.overhead)
            for (number, part) in parts.enumerated() {
                var payload: [UInt8] = []
                ServerMessageWriter.visibility(id: context.id, part, more: number < parts.count - 1, to: &payload)
                shard.replies.send(payload, to: context.connection)
            }
        }
    }

    /// A user's policy with both lists, from Redis.
    func lists(of user: UserID) async throws(Refusal) -> VisibilityLists {
        let reply = try await shard.reply(changes: false) { shard.policies.read(user, all: true, reply: $0) }
        guard let read = PolicyRead(reply.value), !read.head.isDamaged else {
            shard.recordDamage("visibility", of: user)
            throw Refusal(.damagedRecord())
        }
        return read.lists
    }

    // MARK: Messages to the user's own connections

    private func visibilityKnown(of user: LocalUser) {
        for case let connection? in user.sessions.map(\.connection) {
            shard.watchers.markMail(connection, ownVisibility)
        }
    }

    private func ownVisibilityFrame(of connection: Connection) -> [UInt8] {
        // A client receives `connected` first, and nothing before it.
        guard connection.isGreeted, let user = connection.session?.user.id else { return [] }
        var payload: [UInt8] = []
        let head = shard.policies[user]?.head
        guard head?.isDamaged != true else { return [] }
        ServerMessageWriter.ownVisibility(head?.own ?? OwnVisibility(), to: &payload)
        return WebSocketFrame.text(payload)
    }
}

extension VisibilityChange {
    fileprivate var hasMoreThanReceipts: Bool {
        presence != nil || lastSeen != nil || findable != nil || conversationsFrom != nil
    }
}

/// Why a script refuses a change of a policy.
enum VisibilityRefusal: String, RefusalWord {
    case full = "FULL"

    var refusal: Refusal { Refusal(.tooMany, "no more users may be in this list") }
}

extension PolicyRead {
    /// In the order of their ids, because the order in the store has no meaning.
    var lists: VisibilityLists {
        VisibilityLists(visibility: head.visibility, contacts: contacts.sorted(), blocks: blocks.sorted())
    }
}
