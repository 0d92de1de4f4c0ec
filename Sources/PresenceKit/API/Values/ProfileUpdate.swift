/// What became of a change of the own profile.
public enum ProfileUpdate: Hashable, Sendable {
    /// The server stored it; the profile as it is now.
    case saved(PersonProfile)
    /// There is no connection: it is kept and sent when there is one again.
    case kept
}

/// What to do with a change of the profile when there is no connection.
public enum WhenAway: Hashable, Sendable {
    /// The call fails.
    case fail
    /// It is kept, in order, with the newest value of each member, and sent when the connection is back.
    case keep
}

/// Profile changes that wait for a connection, and what became of those that were refused.
public struct KeptProfileChanges: Hashable, Sendable {
    /// The newest value of each member that waits to be sent or acknowledged; `nil` if none does.
    public var waiting: ProfileChanges?
    /// The newest refusal of a kept change; its `field` was dropped, the others were sent without it.
    public var refusal: PresenceError?

    public init(waiting: ProfileChanges? = nil, refusal: PresenceError? = nil) {
        self.waiting = waiting
        self.refusal = refusal
    }
}
