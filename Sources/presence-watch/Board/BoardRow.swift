import Foundation
import PresenceKit
import TerminalClients

/// One person on the board: what there is to show, already harmless and measured.
struct BoardRow: Hashable, Sendable {
    let user: String
    /// The display name, or the id while there is none.
    let name: Label
    /// Empty where the name is the id.
    let id: Label
    /// `nil` until something is known of them.
    let status: PresenceStatus?
    /// When the status began, or when someone offline was last seen; `nil` if nobody knows.
    let since: Date?
    let text: Label
    let devices: Label
    /// Whether the server, or the library, will not watch them; `text` says why.
    let isRefused: Bool
    /// `nil` until the server has answered for them, and for those refused.
    let freshness: Freshness?
    /// The newest change of presence or profile, as it came.
    let arrival: Arrival?
    /// What sorts people of the same status: compared byte by byte, so that the order never depends on a locale.
    private let sortName: String

    /// A person the server has not answered for yet.
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

    /// People who are here stand on top: online, busy, away; then the others, the latest seen first.
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
