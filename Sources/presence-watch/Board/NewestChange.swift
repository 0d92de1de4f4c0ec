import Foundation
import PresenceKit

/// The change that was received last, of any person.
struct NewestChange: Hashable, Sendable {
    /// The person.
    let name: Label
    let arrival: Arrival
}
