import Foundation
import PresenceKit
import TerminalClients

/// The change that was received last, of any person.
struct NewestChange: Hashable, Sendable {
    /// The person.
    let name: Label
    let arrival: Arrival
}
