import PresenceProtocol

extension PresenceClient {
    /// Whether one person is here, and every change of it.
    public func presence(of user: String) -> PresenceUpdates<PersonPresence> {
        guard let id = UserID(user) else {
            return PresenceUpdates([Person.refused(user).presence])
        }
        return PresenceUpdates(.topic(self, .presence(id), read: { $0.nextPresence($1) }))
    }

    /// The profile of one person, and every change of it.
    public func profile(of user: String) -> PresenceUpdates<PersonProfile> {
        guard let id = UserID(user) else {
            return PresenceUpdates([Person.refused(user).profile])
        }
        return PresenceUpdates(.topic(self, .profile(id), read: { $0.nextProfile($1) }))
    }

    /// Presence and profile of one person, and every change of either.
    public func updates(of user: String) -> PresenceUpdates<Person> {
        guard let id = UserID(user) else { return PresenceUpdates([.refused(user)]) }
        return PresenceUpdates(.topic(self, .user(id), read: { $0.nextPerson($1) }))
    }

    /// Many people as one sequence. It yields as soon as something is known of anybody (``Roster/isComplete`` says
    /// whether of everybody), and then the whole roster after each change, naming who changed since the loop last
    /// looked.
    public func roster(of users: some Sequence<String>) -> PresenceUpdates<Roster> {
        var seen: Set<String> = []
        let unique = users.filter { seen.insert($0).inserted }
        return PresenceUpdates(.topic(self, .roster(unique), read: { $0.nextRoster($1) }))
    }

    /// Who types in a conversation, without the own user. Only its participants may look: to others the one element
    /// has a problem with the code `forbidden`.
    public func typing(in conversation: String) -> PresenceUpdates<Typing> {
        guard let id = ConversationID(conversation) else {
            return PresenceUpdates([
                Typing(conversation: conversation, freshness: .unknown, problem: .invalidID(conversation))
            ])
        }
        return PresenceUpdates(.topic(self, .typing(id), read: { $0.nextTyping($1) }))
    }

    /// How the connection is, and every change of it. Looking at it does not connect; it outlives a sign-out.
    public var connectionStates: PresenceUpdates<ConnectionState> {
        PresenceUpdates(.topic(self, .connection, read: { $0.nextConnectionState($1) }))
    }

    /// The own user: id, status, profile and who may see them, and every change from whichever device. It begins with
    /// what is known, and tells of a sign-out by ending.
    public var meUpdates: PresenceUpdates<Me> {
        PresenceUpdates(.topic(self, .me, read: { $0.nextMe($1) }))
    }

    /// What the user chose for all their devices, from whichever of them.
    public var statusUpdates: PresenceUpdates<MyStatus> {
        PresenceUpdates(.topic(self, .ownStatus, read: { $0.nextOwnStatus($1) }))
    }

    /// The profile changes that wait for a connection (``OfflinePolicy/queue``), and what was refused of them.
    public var pendingProfileUpdates: PresenceUpdates<PendingProfileChanges> {
        PresenceUpdates(.topic(self, .keptProfile, read: { $0.nextKeptProfile($1) }))
    }
}
