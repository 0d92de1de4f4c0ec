import Foundation
import PresenceKit
import TerminalClients

/// What is known of everyone and everything watched: the state that screens and lines are made of. It does no I/O.
///
/// People are kept sorted, and those who did not change are not looked at again.
struct Board: Sendable {
    /// Everyone watched, those here on top.
    private(set) var rows: [BoardRow]
    /// How the connection is, and since when by the server's clock.
    private(set) var connection: (state: ConnectionState, since: Date) = (.idle, .distantPast)
    /// Whether a connection has ever been made.
    private(set) var hasConnected = false
    private(set) var newest: NewestChange?
    /// The conversations in which each person types, sorted.
    private(set) var typing: [String: [String]] = [:]
    /// Since when something shown may not be true any more; `nil` while nothing is.
    private(set) var staleSince: Date?

    private var byUser: [String: BoardRow]
    private var conversations: [String: Typing] = [:]
    /// Whether it has to be said where somebody types.
    let watchesSeveralConversations: Bool

    /// A board of people not known yet.
    init(users: [String], conversations: [String] = []) {
        watchesSeveralConversations = Set(conversations).count > 1
        byUser = Dictionary(users.map { ($0, BoardRow(waitingFor: $0)) }, uniquingKeysWith: { first, _ in first })
        rows = byUser.values.sorted { $0.precedes($1) }
    }

    /// Takes in those of `people` who changed.
    mutating func take(_ people: [Person], changed: Set<String>) {
        for person in people where changed.contains(person.user) {
            let row = BoardRow(person)
            byUser[person.user] = row
            if let arrival = row.arrival { note(arrival, of: row.name) }
        }
        rows = byUser.values.sorted { $0.precedes($1) }
        staleSince = rows.compactMap { $0.freshness?.staleSince }.min()
    }

    mutating func take(_ news: Typing) {
        let former = conversations.updateValue(news, forKey: news.conversation)
        typing = [:]
        for conversation in conversations.values.sorted(by: { $0.conversation < $1.conversation }) {
            for user in conversation.users { typing[user, default: []].append(conversation.conversation) }
        }
        // Whose change it was is said by the difference alone.
        let difference = Set(news.users).symmetricDifference(former?.users ?? [])
        if let arrival = news.arrival, let who = difference.min() { note(arrival, of: byUser[who]?.name ?? Label(who)) }
    }

    mutating func take(_ state: ConnectionState, at now: Date) {
        connection = (state, now)
        if state.isConnected { hasConnected = true }
    }

    private mutating func note(_ arrival: Arrival, of name: Label) {
        guard newest.map({ $0.arrival.receivedAt < arrival.receivedAt }) ?? true else { return }
        newest = NewestChange(name: name, arrival: arrival)
    }

    subscript(user: String) -> BoardRow? { byUser[user] }

    var hereCount: Int { rows.count(where: \.isHere) }

    /// Whether what is shown is the truth of this moment.
    var isLive: Bool { connection.state == .live && staleSince == nil }

    /// Whether everybody has been answered for.
    var isComplete: Bool { rows.allSatisfy { $0.status != nil } }

    /// Those who type in a conversation and are not on the board themselves.
    var othersTyping: [String] { typing.keys.filter { byUser[$0] == nil }.sorted() }
}
