import PresenceCore
import PresenceProtocol

/// A connection that watches something of its own user.
protocol OwnSubscriber: AnyObject {
    var connection: Connection { get }
    var user: UserID { get }
    /// Its subscription has been answered: nothing is written to it before.
    var isReady: Bool { get set }
    /// The size of what waits for the connection.
    var bytes: Int { get }
}

/// The connections that watch the same thing of their own users: their lists of conversations, or their notifications.
struct OwnSubscribers<Subscriber: OwnSubscriber> {
    private var users: [UserID: [Subscriber]] = [:]

    var isEmpty: Bool { users.isEmpty }
    var count: Int { users.values.reduce(0) { $0 + $1.count } }
    var ids: [UserID] { Array(users.keys) }
    var all: [Subscriber] { Array(users.values.joined()) }

    subscript(user: UserID) -> [Subscriber]? { users[user] }

    /// The subscriber of a connection whose subscription has been answered.
    subscript(connection: Connection) -> Subscriber? {
        guard let user = connection.session?.user.id else { return nil }
        return users[user]?.first { $0.connection === connection && $0.isReady }
    }

    /// Adds one that is not ready.
    mutating func begin(_ subscriber: Subscriber) {
        users[subscriber.user]?.removeAll { $0.connection.isClosed }
        users[subscriber.user, default: []].append(subscriber)
    }

    /// Its subscription is answered: it replaces an earlier one of the connection.
    ///
    /// - Returns: whether it is still there.
    mutating func ready(_ subscriber: Subscriber) -> Bool {
        guard users[subscriber.user]?.contains(where: { $0 === subscriber }) == true else { return false }
        unsubscribe(subscriber.connection)
        subscriber.isReady = true
        return true
    }

    /// The subscription was refused.
    mutating func cancel(_ subscriber: Subscriber) {
        if !subscriber.isReady { remove(subscriber.user) { $0 === subscriber } }
    }

    /// A subscriber that is not ready belongs to a later request, so it stays.
    mutating func unsubscribe(_ connection: Connection) {
        if let user = connection.session?.user.id { remove(user) { $0.connection === connection && $0.isReady } }
    }

    mutating func ended(_ session: Session) { remove(session.user.id) { $0.connection.isClosed } }

    private mutating func remove(_ user: UserID, where isGone: (Subscriber) -> Bool) {
        users[user]?.removeAll(where: isGone)
        if users[user]?.isEmpty == true { users[user] = nil }
    }

    /// Too much data is waiting: drops what waits for the fullest connections first.
    ///
    /// - Returns: the number of bytes freed.
    func letGo(_ excess: Int, _ drop: (Subscriber) -> Void) -> Int {
        var freed = 0
        for subscriber in all.filter({ $0.bytes > 0 }).sorted(by: { $0.bytes > $1.bytes }) {
            guard freed < excess else { break }
            freed += subscriber.bytes
            drop(subscriber)
        }
        return freed
    }
}
