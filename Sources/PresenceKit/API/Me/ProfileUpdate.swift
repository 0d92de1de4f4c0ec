/// The outcome of a profile change.
public enum ProfileUpdate<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    /// The server stored the change. The value is the profile or the user now.
    case saved(Value)
    /// The change is queued behind earlier ones, and is sent once there is a connection.
    case queued
}

extension ChosenStatus {
    /// The outcome of a chosen status.
    public enum Update: Codable, Hashable, Sendable {
        /// The server has stored it.
        case saved
        /// There is no connection. The choice is in the storage and is sent on the next connection.
        case queued
    }
}

extension PresenceClient {
    /// The handling of a change without a connection.
    public enum OfflinePolicy: Codable, Hashable, Sendable {
        /// The call fails.
        case fail
        /// The change is queued and sent once there is a connection. For each member only the newest value is sent. With a
        /// ``Storage`` on disk the queue survives the process.
        case queue
    }
}

extension ProfileChanges {
    /// Profile changes that are pending, and the last rejection.
    public struct Pending: Codable, Hashable, Sendable {
        /// The newest pending value of each member, until the server acknowledges it; `nil` if none is pending.
        public var waiting: ProfileChanges?
        /// The newest rejection of a queued change. Its `field` was dropped; the other members were sent without it.
        public var refusal: PresenceError?

        /// Creates a value, for fakes and previews. By default no change is pending.
        public init(waiting: ProfileChanges? = nil, refusal: PresenceError? = nil) {
            self.waiting = waiting
            self.refusal = refusal
        }
    }
}
