import Foundation
import PresenceKit
import PresenceProtocol

// Finding people, contact requests and conversations that strangers begin (docs/protocol.md, sections 12 and 14).
extension InMemoryServer {
    /// A user who asks another to be a contact.
    struct Asking {
        var user: String
        var displayName: String?
        var text: String?
        var at: Timestamp
    }

    /// The most bytes of the beginning of a name, and the most users in an answer.
    static let startsBytes = 2...64
    static let mostFound = 20
}

extension InMemoryServer.State {
    // MARK: The directory

    /// Users by the beginning of a name.
    func people(_ query: [String: String], for viewer: UserID) throws(Refusal) -> HTTPResponse {
        guard hasDirectory else { throw Refusal(code: .notFound, message: "no such path") }
        let starts = (query["starts"] ?? "").lowercased()
        guard InMemoryServer.startsBytes.contains(starts.utf8.count) else { throw .invalid("starts", nil) }
        let limit = Int(query["limit"] ?? "10") ?? 0
        guard (1...InMemoryServer.mostFound).contains(limit) else { throw .invalid("limit", nil) }
        let found = accounts.keys.compactMap { id -> (name: String, user: UserID)? in
            guard let user = UserID(id), isFindable(user, by: viewer) else { return nil }
            let showsProfile = user == viewer || (users[user] ?? .init()).showsPresence(to: viewer)
            let names = [accounts[id]?.username, showsProfile ? profile(id)["displayName"] as? String : nil]
            let hit = names.compactMap { $0?.lowercased() }.filter { $0.hasPrefix(starts) }.min()
            return hit.map { ($0, user) }
        }
        let sorted = found.sorted { ($0.name, $0.user) < ($1.name, $1.user) }
        return .json(["people": sorted.prefix(limit).map { view($0.user, by: viewer) }])
    }

    func find(_ name: String, by viewer: UserID) -> Object? {
        let owner = accounts.first { $0.value.username?.lowercased() == name.lowercased() }?.key
        guard let user = owner.flatMap(UserID.init), isFindable(user, by: viewer) else { return nil }
        return view(user, by: viewer)
    }

    private func isFindable(_ user: UserID, by viewer: UserID) -> Bool {
        let subject = users[user] ?? .init()
        return user == viewer || subject.shows(subject.visibility.findable ?? .everyone, to: viewer)
    }

    private func view(_ user: UserID, by viewer: UserID) -> Object {
        var found: Object = ["user": user.string]
        if user == viewer || (users[user] ?? .init()).showsPresence(to: viewer) {
            found["profile"] = profile(user.string)
        }
        return found
    }

    // MARK: Contact requests

    /// The same answer whether the other sees it or not.
    mutating func requestContact(_ asked: Object, by user: String) throws(Refusal) {
        guard let other = (asked["user"] as? String).flatMap(UserID.init), other.string != user else {
            throw .invalid("user", nil)
        }
        let text = asked["text"] as? String
        if let text, !(1...140).contains(text.count) { throw .invalid("text", nil) }
        let me = UserID(user)!
        guard users[me]?.blocks.contains(other) != true else { throw .forbidden("this user blocks the other") }
        if askings[user]?.contains(where: { $0.user == other.string }) == true { return join(me, other) }
        let isKnown = users[other] != nil || accounts[other.string] != nil
        guard isKnown, isFindable(other, by: me), askedPairs.insert("\(user) \(other)").inserted,
            users[other]?.contacts.contains(me) != true
        else { return }
        let name = profile(user)["displayName"] as? String
        askings[other.string, default: []].append(
            InMemoryServer.Asking(user: user, displayName: name, text: text, at: tick()))
        changedAskings(of: other.string)
    }

    mutating func answerContact(_ asked: Object, by user: String) throws(Refusal) {
        guard let other = (asked["user"] as? String).flatMap(UserID.init), let accepts = asked["accept"] as? Bool else {
            throw Refusal(code: .badRequest, message: "user and accept are needed")
        }
        let me = UserID(user)!
        let isAsked = askings[user]?.contains { $0.user == other.string } == true
        let open = talks.filter { $0.value.requested == user && $0.value.members.contains(other.string) }.keys
        guard isAsked || !open.isEmpty else {
            if accepts, users[me]?.contacts.contains(other) == true { return }
            throw Refusal(code: .notFound, message: "there is no such request")
        }
        for id in open {
            if accepts { accept(id) } else { set(["archived": true], of: user, in: id) }
        }
        guard isAsked else { return }
        if accepts { return join(me, other) }
        end(other.string, in: user)
    }

    /// Both are contacts of each other.
    private mutating func join(_ one: UserID, _ other: UserID) {
        users[one, default: .init()].contacts.insert(other)
        users[other, default: .init()].contacts.insert(one)
        end(one.string, in: other.string)
        end(other.string, in: one.string)
        for (id, talk) in talks where talk.requested != nil && Set(talk.members) == [one.string, other.string] {
            accept(id)
        }
    }

    /// Removes a request from a user's list.
    mutating func end(_ asker: String, in user: String) {
        guard askings[user]?.contains(where: { $0.user == asker }) == true else { return }
        askings[user]!.removeAll { $0.user == asker }
        changedAskings(of: user)
    }

    private mutating func changedAskings(of user: String) { askingVersions[user] = nextVersion() }

    mutating func flushAskings(_ number: Int) {
        let user = peers[number]!.user
        let version = askingVersions[user] ?? 0
        guard peers[number]!.askings != version else { return }
        peers[number]!.askings = version
        let requests = (askings[user] ?? []).map { asking -> Object in
            var request: Object = ["user": asking.user, "at": Int(asking.at)]
            request["displayName"] = asking.displayName
            request["text"] = asking.text
            return request
        }
        send(["type": "contactRequests", "requests": requests, "version": Int(version)], to: peers[number]!)
    }

    // MARK: Conversations that strangers begin

    /// The member who has not answered yet, if a new conversation is a request.
    func requested(by user: String, with others: [String], isDirect: Bool) -> String? {
        guard isDirect, let other = others.first.flatMap(UserID.init) else { return nil }
        let subject = users[other] ?? .init()
        let isOpen = (subject.visibility.conversationsFrom ?? .everyone) == .everyone
        return isOpen || subject.contacts.contains(UserID(user)!) ? nil : other.string
    }

    /// The request is answered: what was hidden is shown.
    mutating func accept(_ id: String) {
        talks[id]!.requested = nil
        talks[id]!.version += 1
    }
}
