import Foundation
import PresenceKit

/// The change that was received last, whoever made it.
struct NewestChange: Hashable, Sendable {
    /// Whose it is.
    let name: Label
    let arrival: Arrival
}
