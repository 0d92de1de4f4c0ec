import Foundation
import PresenceKit
import TerminalClients

/// The known values of all watched users and conversations, from which screens and lines are made. It does no I/O.
///
/// Users are kept sorted, and users that did not change are not processed again.
struct Board: Sendable {
    /// All watched users, online ones first.
    private(set) var rows: [BoardRow]
    /// The state of the connection, and since when, by the server's clock.
    private(set) var connection: (state: ConnectionState, since: Date) = (.idle, .distantPast)
    /// Whether there ever was a connection.
    private(set) var hasConnected = false
    private(set) var newest: NewestChange?
    /// The conversations in which each user is typing, sorted.
    private(set) var typing: [String: [String]] = [:]
    /// Since when shown values may be outdated; `nil` if they are current.
    private(set) var staleSince: Date?

    private var byUser: [String: BoardRow]
    private var conversations: [String: Typing] = [:]
    /// Whether each typing user's conversation must be shown.
    let watchesSeveralConversations: Bool

    /// A board of users that are not known yet.
    init(users: [String], conversations: [String] = []) {
        watchesSeveralConversations = Set(conversations).count > 1
        byUser = Dictionary(users.map { ($0, BoardRow(waitingFor: $0)) }, uniquingKeysWith: { first, _ in first })
        rows = byUser.values.sorted { $0.precedes($1) }
    }

    /// Applies the values of those of `people` who changed.
    mutating func apply(_ people: [Person], changed: Set<String>) {
        for person in people where changed.contains(person.user) {
            let row = BoardRow(person)
            byUser[person.user] = row
            if let arrival = row.arrival { record(arrival, of: row.name) }
        }
        rows = byUser.values.sorted { $0.precedes($1) }
        staleSince = rows.compactMap { $0.freshness?.staleSince }.min()
    }

    mutating func apply(_ news: Typing) {
        let former = conversations.updateValue(news, forKey: news.conversation)
        typing = [:]
        for conversation in conversations.values.sorted(by: { $0.conversation < $1.conversation }) {
            for user in conversation.users { typing[user, default: []].append(conversation.conversation) }
        }
        // The user who changed is only known from the difference.
        let difference = Set(news.users).symmetricDifference(former?.users ?? [])
        if let arrival = news.arrival, let who = difference.min() {
            record(arrival, of: byUser[who]?.name ?? Label(who))
        }
    }

    mutating func apply(_ state: ConnectionState, at now: Date) {
        connection = (state, now)
        if state.isConnected { hasConnected = true }
    }

    private mutating func record(_ arrival: Arrival, of name: Label) {
        guard newest.map({ $0.arrival.receivedAt < arrival.receivedAt }) ?? true else { return }
        newest = NewestChange(name: name, arrival: arrival)
    }

    subscript(user: String) -> BoardRow? { byUser[user] }

    var hereCount: Int { rows.count(where: \.isHere) }

    /// Whether the shown values are current.
    var isLive: Bool { connection.state == .live && staleSince == nil }

    /// Whether the server has replied for all users.
    var isComplete: Bool { rows.allSatisfy { $0.status != nil } }

    /// The typing users that are not on the board.
    var othersTyping: [String] { typing.keys.filter { byUser[$0] == nil }.sorted() }
}
