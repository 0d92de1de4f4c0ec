import Foundation
import PresenceKit
import TerminalClients

/// A user on the board: the texts to show, safe and measured.
struct BoardRow: Hashable, Sendable {
    let user: String
    /// The display name, or the id without one.
    let name: Label
    /// Empty if the name is the id.
    let id: Label
    /// `nil` until the user is known.
    let status: PresenceStatus?
    /// When the status began, or when an offline user was last seen; `nil` if unknown.
    let since: Date?
    let text: Label
    let devices: Label
    /// Whether the server or the library refuses to watch the user; `text` has the reason.
    let isRefused: Bool
    /// `nil` until the server has replied, and for refused users.
    let freshness: Freshness?
    /// The newest change of presence or profile.
    let arrival: Arrival?
    /// The order among users with the same status, compared byte by byte and so independent of the locale.
    private let sortName: String

    /// A user for whom the server has not replied yet.
    init(waitingFor user: String) {
        self.user = user
        name = Label(user)
        id = .empty
        status = nil
        since = nil
        text = .empty
        devices = .empty
        freshness = nil
        isRefused = false
        arrival = nil
        sortName = user.lowercased()
    }

    init(_ person: Person) {
        user = person.user
        let shown = person.displayName.map { Label($0) }.flatMap { $0.width > 0 ? $0 : nil }
        name = shown ?? Label(person.user)
        id = shown == nil ? .empty : Label(person.user)
        status = person.presence.status
        since = person.isOnline ? person.presence.since : person.presence.lastSeen ?? person.presence.since
        let refusal = person.refusal
        isRefused = refusal != nil
        freshness = isRefused ? nil : person.freshness
        text = Label(refusal?.message ?? person.presence.text ?? "")
        devices = Label(person.presence.devices.map(\.rawValue).joined(separator: ", "))
        arrival = [person.presence.arrival, person.profile.arrival].compactMap { $0 }
            .max { $0.receivedAt < $1.receivedAt }
        sortName = name.text.lowercased()
    }

    var isHere: Bool { status.map { $0 != .offline } ?? false }

    /// Online users first (online, busy, away), then the others, most recently seen first.
    func precedes(_ other: BoardRow) -> Bool {
        if rank != other.rank { return rank < other.rank }
        if !isHere, since != other.since { return (since ?? .distantPast) > (other.since ?? .distantPast) }
        return (sortName, user) < (other.sortName, other.user)
    }

    private var rank: Int {
        switch status {
        case .online: 0
        case .busy: 1
        case .away: 2
        case .offline: 3
        case nil: 4
        }
    }
}
