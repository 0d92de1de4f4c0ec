/// What became of a change of the own profile.
public enum ProfileUpdate: Codable, Hashable, Sendable {
    /// The server stored it; the profile as it is now.
    case saved(PersonProfile)
    /// It is in the queue, and sent when there is a connection, behind what was queued before it.
    case queued
}

/// What became of something chosen.
public enum ChoiceUpdate: Codable, Hashable, Sendable {
    /// The server holds it.
    case saved
    /// There is no connection: it is in the storage, and made with the next one.
    case queued
}

/// What to do with a change when there is no connection.
public enum OfflinePolicy: Codable, Hashable, Sendable {
    /// The call fails.
    case fail
    /// It is queued, with the newest value of each member, and sent when there is a connection. With a ``Storage`` on
    /// disk it outlives the process.
    case queue
}

/// Profile changes that wait for a connection, and what became of those that were refused.
public struct PendingProfileChanges: Codable, Hashable, Sendable {
    /// The newest value of each member that waits to be sent or acknowledged; `nil` if none does.
    public var waiting: ProfileChanges?
    /// The newest refusal of a queued change; its `field` was dropped, the others were sent without it.
    public var refusal: PresenceError?

    /// Makes a value, as a fake or a preview needs it; by default nothing waits.
    public init(waiting: ProfileChanges? = nil, refusal: PresenceError? = nil) {
        self.waiting = waiting
        self.refusal = refusal
    }
}
