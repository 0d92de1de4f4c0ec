extension PresenceClient {
    /// Whether one person is here, and every change of it.
    public func presence(of user: String) -> PresenceUpdates<PersonPresence> {
        fatalError()
    }

    /// The profile of one person, and every change of it.
    public func profile(of user: String) -> PresenceUpdates<PersonProfile> {
        fatalError()
    }

    /// Presence and profile of one person, and every change of either.
    public func user(_ user: String) -> PresenceUpdates<Person> {
        fatalError()
    }

    /// Many people as one sequence. It yields as soon as something is known of anybody (``Roster/isComplete`` says
    /// whether of everybody), and then the whole roster after each change, naming who changed since the loop last
    /// looked.
    public func roster(_ users: some Sequence<String>) -> PresenceUpdates<Roster> {
        fatalError()
    }

    /// Who types in a conversation, without the own user. Only its participants may look: to others the one element
    /// is refused with the code `forbidden`.
    public func typing(in conversation: String) -> PresenceUpdates<Typing> {
        fatalError()
    }

    /// How the connection is, and every change of it. Looking at it does not connect.
    public var connectionState: PresenceUpdates<ConnectionState> {
        fatalError()
    }

    /// What the user chose for all their devices, from whichever of them.
    public var ownStatus: PresenceUpdates<MyStatus> {
        fatalError()
    }

    /// The profile changes that wait for a connection (``WhenAway/keep``), and what was refused of them.
    public var keptProfileChanges: PresenceUpdates<KeptProfileChanges> {
        fatalError()
    }
}
