import Foundation
import PresenceProtocol

// Conversations and their members (docs/protocol.md, section 15).
extension InMemoryServer {
    /// A conversation with its messages.
    struct Talk {
        /// In the order of joining.
        var members: [String]
        var isDirect = true
        var name: String?
        var owner: String?
        var metadata: Object?
        var createdAt: Timestamp = beginning
        /// The messages; their numbers start at 1.
        var log: [Object] = []
        /// The version at which each message last changed; the newest is that of the conversation.
        var version = 0
        var reads: [String: Int] = [:]
        var delivered: [String: Int] = [:]
        /// The settings of each member: muted, archived.
        var settings: [String: Object] = [:]
        /// The server no longer has changes before this version.
        var forgottenBefore = 0
        /// The users who type, and when that ends.
        var typists: [UserID: Timestamp] = [:]
        var typingVersion: Int64 = 1
        /// The member who has not answered a stranger yet.
        var requested: String?
    }

    /// The most members of a conversation.
    static let members = 10
}

extension InMemoryServer.State {
    mutating func create(_ asked: Object, _ bytes: [UInt8], by user: String) throws(Refusal) -> Object {
        let message: ClientMessage
        do throws(DecodingFailure) { message = try ClientMessage.decode(bytes) } catch { throw error.errorMessage }
        guard case .createConversation(let others, let key) = message.body else { return [:] }
        let name = (asked["name"] as? String).map(FreeText.trimmed)
        let id = try create([user] + others.map(\.string), name: name, asked["metadata"] as? Object, key)
        return view(of: id, for: user)
    }

    /// - Returns: the id of the conversation: a new one, that of the pair, or that of the key.
    mutating func create(
        _ people: [String], name: String? = nil, _ metadata: Object? = nil, _ key: CreationKey? = nil
    ) throws(Refusal) -> String {
        let user = people[0]
        let others = people.filter { $0 != user }
        let pair = Set(people)
        let isDirect = pair.count == 2 && name == nil
        let creation = key.map { "\(user) \($0)" } ?? ""
        let former =
            isDirect ? talks.first { $0.value.isDirect && Set($0.value.members) == pair }?.key : creations[creation]
        if let former {
            guard talks[former]!.members.contains(user) else { throw .forbidden("this user has left the conversation") }
            return former
        }
        guard (2...InMemoryServer.members).contains(pair.count) else {
            throw Refusal(code: .tooMany, message: "a conversation has 2 to \(InMemoryServer.members) participants")
        }
        guard !others.contains(where: { isBlocked(user, $0) }) else { throw .forbidden("one blocks the other") }
        let id = "made-\(talks.count + 1)"
        talks[id] = InMemoryServer.Talk(
            members: [user] + Set(others).sorted(), isDirect: isDirect, name: name, owner: isDirect ? nil : user,
            metadata: metadata, createdAt: tick(),
            requested: requested(by: user, with: others, isDirect: isDirect))
        if key != nil, !isDirect { creations[creation] = id }
        return id
    }

    /// Whether one of the two blocks the other.
    func isBlocked(_ one: String, _ other: String) -> Bool {
        guard let one = UserID(one), let other = UserID(other) else { return false }
        return users[one]?.blocks.contains(other) ?? false || users[other]?.blocks.contains(one) ?? false
    }

    private func checkGroup(_ id: String) throws(Refusal) {
        if talks[id]!.isDirect { throw .forbidden("a direct conversation has neither name nor changes") }
    }

    mutating func rename(_ id: String, to name: String) throws(Refusal) {
        try checkGroup(id)
        talks[id]!.name = name.isEmpty ? nil : FreeText.trimmed(name)
        talks[id]!.version += 1
    }

    mutating func changeMembers(
        of id: String, add: [String], remove: [String], by user: String
    ) throws(Refusal) {
        try checkGroup(id)
        var talk = talks[id]!
        guard talk.owner == user || remove.allSatisfy({ $0 == user }) else {
            throw .forbidden("only the owner removes others")
        }
        guard !add.contains(where: { isBlocked(user, $0) }) else { throw .forbidden("one blocks the other") }
        let new = add.filter { !talk.members.contains($0) }
        talk.members = (talk.members + new).filter { !remove.contains($0) }
        guard talk.members.count <= InMemoryServer.members else {
            throw Refusal(code: .tooMany, message: "a conversation has at most \(InMemoryServer.members) participants")
        }
        for member in new { (talk.reads[member], talk.delivered[member]) = (talk.log.count, talk.log.count) }
        if let owner = talk.owner, !talk.members.contains(owner) { talk.owner = talk.members.first }
        talk.version += 1
        talks[id] = talk
    }

    /// The user's own settings.
    mutating func set(_ asked: Object, of user: String, in id: String) {
        var settings = talks[id]!.settings[user] ?? [:]
        if let isMuted = asked["muted"] as? Bool {
            settings = settings.filter { !$0.key.hasPrefix("muted") }
            if isMuted { settings["muted"] = true }
            if let length = asked["muteFor"] as? Int { settings["mutedUntil"] = Int(now) + length }
        }
        if let isArchived = asked["archived"] as? Bool {
            settings = settings.filter { !$0.key.hasPrefix("archived") }
            if isArchived { settings.merge(["archived": true, "archivedAt": Int(now)]) { $1 } }
        }
        talks[id]!.settings[user] = settings
        talks[id]!.version += 1
    }

    // MARK: Marks

    /// Marks only advance, up to the last message; a read message is also delivered.
    mutating func mark(_ user: String, _ delivered: Int?, _ read: Int?, in id: String) {
        let last = talks[id]!.log.count
        let read = min(read ?? 0, last)
        talks[id]!.reads[user] = max(talks[id]!.reads[user] ?? 0, read)
        talks[id]!.delivered[user] = max(talks[id]!.delivered[user] ?? 0, min(delivered ?? 0, last), read)
    }

    /// A member's marks as another one sees them.
    private func marks(of member: String, in talk: InMemoryServer.Talk, for viewer: String) -> Object {
        var marks: Object = ["user": member]
        let (subject, reader) = (users[UserID(member)!] ?? .init(), users[UserID(viewer)!] ?? .init())
        let isHidden = talk.requested == member && member != viewer
        let (read, delivered) = isHidden ? (0, 0) : (talk.reads[member] ?? 0, talk.delivered[member] ?? 0)
        let showsRead =
            member == viewer || subject.visibility.receipts != .nobody && reader.visibility.receipts != .nobody
        if showsRead { marks["read"] = read }
        let showsDelivered =
            member == viewer || subject.showsPresence(to: UserID(viewer)!) && subject.status.status != .invisible
        marks["delivered"] = showsDelivered ? delivered : showsRead ? read : 0
        return marks
    }

    /// A conversation as a member sees it.
    func view(of id: String, for user: String) -> Object {
        let talk = talks[id]!
        let marks = talk.members.reduce(0) { $0 + (talk.reads[$1] ?? 0) + (talk.delivered[$1] ?? 0) }
        let ownNewest = talk.log.last { $0["from"] as? String == user }?["seq"] as? Int ?? 0
        let unread = talk.log.dropFirst(max(talk.reads[user] ?? 0, ownNewest)).filter { $0["deletedAt"] == nil }
        var object: Object = [
            "id": id, "version": talk.version * 1_000 + marks + 1, "kind": talk.isDirect ? "direct" : "group",
            "participants": talk.members.sorted(),
            "members": talk.members.map { self.marks(of: $0, in: talk, for: user) }, "createdAt": Int(talk.createdAt),
            "first": 1, "last": talk.log.count, "unread": unread.count,
        ]
        let urgent = unread.suffix(32).count { $0["priority"] != nil }
        if urgent > 0 { object.merge(["hasUnreadPriority": true, "priorityCount": urgent]) { $1 } }
        object["lastMessage"] = talk.log.last
        object["name"] = talk.name
        object["owner"] = talk.owner
        object["metadata"] = talk.metadata
        if talk.requested == user { object["request"] = true }
        return object.merging(talk.settings[user] ?? [:]) { $1 }
    }

    /// Those who type, as the members see them.
    func typing(in id: String) -> [UserID] {
        let talk = talks[id]!
        let isBlocked = talk.isDirect && talk.members.count == 2 && isBlocked(talk.members[0], talk.members[1])
        return isBlocked
            ? []
            : talk.typists.keys.filter { talk.requested != $0.string }.filter { users[$0]?.status.status != .invisible }
                .sorted()
    }

    // MARK: Events

    mutating func flushTalks(_ number: Int) {
        let peer = peers[number]!
        for (id, known) in peer.typing.sorted(by: { $0.key < $1.key }) {
            let isMember = talks[id]?.members.contains(peer.user) == true
            let version = isMember ? talks[id]!.typingVersion : 0
            guard version != known else { continue }
            let users = isMember ? typing(in: id) : []
            peers[number]!.typing[id] = version
            if isMember && peer.activity == .background { continue }
            send(
                .typing(
                    .init(
                        conversation: ConversationID(id)!, version: version, users: Array(users.prefix(20)),
                        more: max(0, users.count - 20), at: now)), to: peer)
        }
        for (id, known) in peer.follows.sorted(by: { $0.key < $1.key }) {
            guard let talk = talks[id], talk.members.contains(peer.user), talk.version > known else { continue }
            peers[number]!.follows[id] = talk.version
            let news = talk.log.filter { $0.number("version") > known }
            for message in news.sorted(by: { $0.number("version") < $1.number("version") }) {
                send(
                    [
                        "type": "message", "conversation": id, "message": message,
                        "conversationVersion": message["version"]!, "at": Int(now),
                    ], to: peer)
            }
        }
        flushList(number)
    }

    private mutating func flushList(_ number: Int) {
        guard var known = peers[number]!.list else { return }
        for (conversation, version) in conversations(of: peers[number]!.user, known) {
            let id = conversation["id"] as! String
            known[id] = version
            send(["type": "conversation", "conversation": conversation, "at": Int(now)], to: peers[number]!)
        }
        peers[number]!.list = known
    }

    /// The conversations of a list that differ from the known versions, with those that the user is no longer in.
    func conversations(of user: String, _ known: [String: Int]) -> [(object: Object, version: Int?)] {
        Set(talks.keys).union(known.keys).sorted().compactMap { id in
            guard let talk = talks[id], talk.members.contains(user) else {
                guard let known = known[id] else { return nil }
                return (
                    ["id": id, "version": max(known, talks[id].map { $0.version * 1_000 } ?? 0) + 1, "removed": true],
                    nil
                )
            }
            let view = view(of: id, for: user)
            let version = view.number("version")
            return known[id] == version ? nil : (view, version)
        }
    }
}

extension ServerMessage.ErrorMessage {
    static func forbidden(_ message: String) -> Self { Self(code: .forbidden, message: message) }
}
