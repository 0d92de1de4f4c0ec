import Foundation
import PresenceKit

/// A user as a JSON object, with all known values. Times are in milliseconds since 1970 by the server's clock; unknown
/// values are absent.
struct PersonRecord: Encodable, Hashable, Sendable {
    var type = "person"
    var user: String
    var displayName: String?
    var photoURL: String?
    var timezone: String?
    var locale: String?
    var status: String
    var since: Int64?
    var lastSeen: Int64?
    var text: String?
    var devices: [String]
    /// Whether any value is known.
    var found: Bool
    /// Whether the values are current, and if not, since when they may be outdated.
    var live: Bool
    var staleSince: Int64?
    /// Why the user is not watched.
    var refused: String?
    /// When the newest change was made.
    var at: Int64?
    /// How long it took to arrive, in milliseconds.
    var latency: Double?

    init(_ person: Person) {
        user = person.user
        displayName = person.profile.displayName
        photoURL = person.profile.photoURL?.absoluteString
        timezone = person.profile.timezone
        locale = person.profile.locale
        status = person.presence.status.rawValue
        since = person.presence.since?.milliseconds
        lastSeen = person.presence.lastSeen?.milliseconds
        text = person.presence.text
        devices = person.presence.devices.map(\.rawValue)
        found = person.isFound
        live = person.freshness.isLive
        refused = person.refusal?.description
        staleSince = refused == nil ? person.freshness.staleSince?.milliseconds : nil
        let arrival = BoardRow(person).arrival
        at = arrival?.madeAt.milliseconds
        latency = arrival?.latency.milliseconds
    }

    /// Whether the two differ at most in freshness and arrival.
    func hasSameValues(as other: PersonRecord) -> Bool {
        func bare(_ record: PersonRecord) -> PersonRecord {
            var record = record
            record.live = true
            record.staleSince = nil
            record.at = nil
            record.latency = nil
            return record
        }
        return bare(self) == bare(other)
    }
}

extension Date {
    /// Milliseconds since 1970, as in the protocol.
    var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded()) }
}

extension Duration {
    /// In milliseconds, rounded to a tenth.
    var milliseconds: Double { (self / .milliseconds(1) * 10).rounded() / 10 }
}
