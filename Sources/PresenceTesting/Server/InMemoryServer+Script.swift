import Foundation
import PresenceKit
import PresenceMessages

// Actions of other users, of other devices, and of backends. Clients of these users can act as well.
extension InMemoryServer {
    // MARK: Users

    /// Sets presence and profile of users without a client, such as ``PresenceKit/Person/online(_:name:status:text:devices:)``.
    public func set(_ people: Person...) {
        change { state in
            for person in people { state.set(person) }
        }
    }

    /// Sets the users who type in a conversation. It ends after 6 s of ``clock``.
    public func setTyping(_ users: [String], in conversation: String) {
        change { $0.setTyping(users, in: conversation) }
    }

    // MARK: Conversations

    /// Adds a conversation between users: of two without a name a direct one, else a group of the first.
    public func add(conversation id: String, of users: [String], name: String? = nil) {
        change { state in
            let isDirect = users.count == 2 && name == nil
            state.talks[id] = Talk(
                members: users, isDirect: isDirect, name: name, owner: isDirect ? nil : users.first,
                createdAt: state.now)
        }
    }

    /// Another user sends a message.
    public func write(_ text: String, from sender: String, in conversation: String) {
        change { state in
            _ = state.store(["id": UUID().uuidString, "text": text], from: sender, in: conversation)
        }
    }

    /// Another user's device has received, or the user has read, the messages up to a number.
    public func mark(_ user: String, delivered: Int? = nil, read: Int? = nil, in conversation: String) {
        change { $0.mark(user, delivered, read, in: conversation) }
    }

    /// The texts of a conversation, oldest first.
    public func texts(in conversation: String) -> [String] {
        state.withLock { $0.talks[conversation]?.log.map { $0["text"] as? String ?? "" } ?? [] }
    }

    // MARK: Notifications

    /// A backend notifies a user. A repeated `id` changes nothing; a notification replaces an unread one with the same
    /// `collapse`.
    ///
    /// - Returns: whether the id is new.
    @discardableResult
    public func notify(
        _ user: String, id: String = UUID().uuidString, kind: String = "news", title: String, body: String? = nil,
        collapse: String? = nil
    ) -> Bool {
        var item: Object = ["id": id, "kind": kind, "title": title]
        item["body"] = body
        item["collapse"] = collapse
        return change { $0.notices[user, default: Notices()].add(item, at: Int($0.tick())) }
    }

    /// Another device of a user has seen the notifications up to a number, or all.
    public func seeNotifications(of user: String, upTo number: Int = .max) {
        change { $0.notices[user, default: Notices()].mark(["seen": number], by: nil) }
    }
}

extension Person {
    /// A user who is online.
    public static func online(
        _ user: String, name: String? = nil, status: PresenceStatus = .online, text: String? = nil,
        devices: [Device.Kind] = [.phone]
    ) -> Person {
        Person(
            presence: PersonPresence(
                user: user, status: status, since: .inTests, text: text, devices: devices, version: 1, freshness: .live),
            profile: PersonProfile(
                user: user, exists: name != nil, displayName: name, version: name == nil ? 0 : 1, freshness: .live))
    }

    /// A user who is offline.
    public static func offline(_ user: String, name: String? = nil, lastSeen: Date = .inTests) -> Person {
        Person(
            presence: PersonPresence(
                user: user, status: .offline, since: lastSeen, lastSeen: lastSeen, version: 1, freshness: .live),
            profile: PersonProfile(
                user: user, exists: name != nil, displayName: name, version: name == nil ? 0 : 1, freshness: .live))
    }
}
