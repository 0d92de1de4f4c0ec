import PresenceProtocol

extension PresenceClient {
    /// Whether one person is here, and every change of it.
    public func presence(of user: String) -> PresenceUpdates<PersonPresence> {
        guard let id = UserID(user) else {
            return PresenceUpdates(self, .only(PersonPresence(user: user, freshness: .refused(.invalidID(user)))))
        }
        return PresenceUpdates(self, .topic(.presence(id), read: { $0.nextPresence($1) }))
    }

    /// The profile of one person, and every change of it.
    public func profile(of user: String) -> PresenceUpdates<PersonProfile> {
        guard let id = UserID(user) else {
            return PresenceUpdates(self, .only(PersonProfile(user: user, freshness: .refused(.invalidID(user)))))
        }
        return PresenceUpdates(self, .topic(.profile(id), read: { $0.nextProfile($1) }))
    }

    /// Presence and profile of one person, and every change of either.
    public func user(_ user: String) -> PresenceUpdates<Person> {
        guard let id = UserID(user) else { return PresenceUpdates(self, .only(.refused(user))) }
        return PresenceUpdates(self, .topic(.user(id), read: { $0.nextPerson($1) }))
    }

    /// Many people as one sequence. It yields as soon as something is known of anybody (``Roster/isComplete`` says
    /// whether of everybody), and then the whole roster after each change, naming who changed since the loop last
    /// looked.
    public func roster(_ users: some Sequence<String>) -> PresenceUpdates<Roster> {
        var seen: Set<String> = []
        let unique = users.filter { seen.insert($0).inserted }
        return PresenceUpdates(self, .topic(.roster(unique), read: { $0.nextRoster($1) }))
    }

    /// Who types in a conversation, without the own user. Only its participants may look: to others the one element
    /// is refused with the code `forbidden`.
    public func typing(in conversation: String) -> PresenceUpdates<Typing> {
        guard let id = ConversationID(conversation) else {
            let freshness = Freshness.refused(.invalidID(conversation))
            return PresenceUpdates(self, .only(Typing(conversation: conversation, freshness: freshness)))
        }
        return PresenceUpdates(self, .topic(.typing(id), read: { $0.nextTyping($1) }))
    }

    /// How the connection is, and every change of it. Looking at it does not connect; it outlives a sign-out.
    public var connectionState: PresenceUpdates<ConnectionState> {
        PresenceUpdates(self, .topic(.connection, read: { $0.nextConnectionState($1) }))
    }

    /// What the user chose for all their devices, from whichever of them.
    public var ownStatus: PresenceUpdates<MyStatus> {
        PresenceUpdates(self, .topic(.ownStatus, read: { $0.nextOwnStatus($1) }))
    }

    /// The profile changes that wait for a connection (``WhenAway/keep``), and what was refused of them.
    public var keptProfileChanges: PresenceUpdates<KeptProfileChanges> {
        PresenceUpdates(self, .topic(.keptProfile, read: { $0.nextKeptProfile($1) }))
    }
}
