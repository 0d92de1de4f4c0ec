import Foundation
import PresenceKit
import TerminalClients

/// The most recently received change of any user.
struct NewestChange: Hashable, Sendable {
    /// The name of the user.
    let name: Label
    let arrival: Arrival
}
