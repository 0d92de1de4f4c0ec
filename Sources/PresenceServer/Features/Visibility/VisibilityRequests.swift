import PresenceProtocol
import Redis
import WebSockets

/// Requests about who may see the user.
extension ShardLogic {
    func setVisibility(_ connection: Connection, _ session: Session, _ id: Int64?, _ change: VisibilityChange) {
        write(connection, id) { [self] done in
            policies.change(session.user.id, change, done: done)
        } succeeded: { [self] _ in
            replies.ok(id, to: connection)
        }
    }

    func change(
        _ list: PolicyList, _ connection: Connection, _ session: Session, _ id: Int64?, _ change: ListChange
    ) {
        write(connection, id) { [self] done in
            policies.change(session.user.id, list: list, change, done: done)
        } succeeded: { [self] _ in
            replies.ok(id, to: connection)
        }
    }

    func getVisibility(_ connection: Connection, _ session: Session, _ id: Int64?) {
        write(connection, id, changes: false) { [self] done in
            read(visibilityOf: session.user.id, done: done)
        } succeeded: { [self] words in
            guard let read = PolicyRead(.array(words)), !read.head.isDamaged else {
                noteDamage("visibility", of: session.user.id)
                return replies.error(Self.damaged(id), to: connection)
            }
            let parts = read.lists.parts(bytes: configuration.limits.maxServerMessageBytes - Self.visibilityOverhead)
            for (number, part) in parts.enumerated() {
                var payload: [UInt8] = []
                ServerMessageWriter.visibility(id: id, part, more: number < parts.count - 1, to: &payload)
                replies.send(payload, to: connection)
            }
        }
    }

    /// What is held of somebody is nothing that a server wrote.
    static func damaged(_ id: Int64? = nil) -> ServerMessage.ErrorMessage {
        .init(id: id, code: .internal, message: "the store holds something of this user that cannot be read")
    }

    /// What a `visibility` message has beside its ids, at most.
    private static let visibilityOverhead = 256

    /// Who may see a user, with both lists, from Redis.
    func read(visibilityOf user: UserID, done: @escaping StoreReply) {
        let keys = partitions.keys(of: user)
        store.run(
            .policy, keys: [keys.user(user), keys.contacts(user), keys.blocks(user)], arguments: ["1"],
            lane: .commands, reply: done)
    }

    func tellOwnVisibility(_ user: LocalUser) {
        for case let connection? in user.sessions.map(\.connection) {
            connection.ownVisibilityPending = true
            watchers.markMail(connection)
        }
    }

    func ownVisibilityFrame(of connection: Connection) -> [UInt8] {
        // Before `connected`, which is the first thing that a client hears, nothing is said.
        guard connection.isGreeted, let user = connection.session?.user.id else { return [] }
        var payload: [UInt8] = []
        let head = policies[user]?.head
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
