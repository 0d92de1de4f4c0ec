import PresenceProtocol

extension PresenceClient {
    /// Observes the presence of one user. Yields the known value, then every change.
    public func presence(of user: String) -> PresenceUpdates<PersonPresence> {
        guard let id = UserID(user) else {
            return PresenceUpdates([Person.refused(user).presence])
        }
        return PresenceUpdates(.topic(self, .presence(id), read: { $0.nextPresence($1) }))
    }

    /// Observes the profile of one user. Yields the known value, then every change.
    public func profile(of user: String) -> PresenceUpdates<PersonProfile> {
        guard let id = UserID(user) else {
            return PresenceUpdates([Person.refused(user).profile])
        }
        return PresenceUpdates(.topic(self, .profile(id), read: { $0.nextProfile($1) }))
    }

    /// Observes presence and profile of one user. Yields the known values, then every change.
    public func updates(of user: String) -> PresenceUpdates<Person> {
        guard let id = UserID(user) else { return PresenceUpdates([.refused(user)]) }
        return PresenceUpdates(.topic(self, .user(id), read: { $0.nextPerson($1) }))
    }

    /// Observes many users as one sequence. It yields a first roster as soon as any user is known
    /// (``Roster/isComplete`` is true once all are), and then the whole roster after each change, with the users that
    /// changed since the loop's previous element.
    public func roster(of users: some Sequence<String>) -> PresenceUpdates<Roster> {
        var seen: Set<String> = []
        let unique = users.filter { seen.insert($0).inserted }
        return PresenceUpdates(.topic(self, .roster(unique), read: { $0.nextRoster($1) }))
    }

    /// Observes the users who are typing in a conversation, without the signed-in user. Only participants may observe
    /// it: others get one element whose problem has the code `forbidden`.
    public func typing(in conversation: String) -> PresenceUpdates<Typing> {
        guard let id = ConversationID(conversation) else {
            return PresenceUpdates([
                Typing(conversation: conversation, freshness: .unknown, problem: .invalidID(conversation))
            ])
        }
        return PresenceUpdates(.topic(self, .typing(id), read: { $0.nextTyping($1) }))
    }

    /// Observes the state of the connection. Observing it does not connect, and the sequence continues after a
    /// sign-out.
    public var connectionStates: PresenceUpdates<ConnectionState> {
        PresenceUpdates(.topic(self, .connection, read: { $0.nextConnectionState($1) }))
    }

    /// Observes the signed-in user: id, status, profile and visibility, with changes from all devices. It starts with
    /// the known value and ends with a sign-out.
    public var meUpdates: PresenceUpdates<Me> {
        PresenceUpdates(.topic(self, .me, read: { $0.nextMe($1) }))
    }

    /// Observes the status that the user chose for all their devices, on any of them.
    public var statusUpdates: PresenceUpdates<Me.Status> {
        PresenceUpdates(.topic(self, .ownStatus, read: { $0.nextOwnStatus($1) }))
    }

    /// Observes the pending profile changes (``PresenceClient/OfflinePolicy/queue``) and their rejections.
    public var pendingProfileUpdates: PresenceUpdates<ProfileChanges.Pending> {
        PresenceUpdates(.topic(self, .keptProfile, read: { $0.nextKeptProfile($1) }))
    }
}
