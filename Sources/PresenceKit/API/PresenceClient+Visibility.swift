import PresenceProtocol

extension PresenceClient {
    /// Chooses who may see the user, on all their devices, until they choose otherwise. It takes effect at once, also
    /// for current viewers.
    ///
    /// - Parameters:
    ///   - presence: who sees the user at all. To everyone else the user looks unknown.
    ///   - lastSeen: of those, who sees since when the user is offline. It is mutual: the user sees it only of people
    ///     who may see theirs.
    ///   - receipts: whether the members of a conversation see up to where the user has read: `everyone` or `nobody`. It
    ///     is mutual, and switched on again it shows later marks only.
    ///
    ///   What is `nil` stays as it is; at first all are `everyone`.
    /// - Throws: `notConnected` or `connectionLost`, as ``createConversation(with:)``; `validationFailed` for receipts that
    ///   only contacts would see.
    public func setVisibility(
        presence: Audience? = nil, lastSeen: Audience? = nil, receipts: Audience? = nil
    ) async throws {
        try await change(
            .setVisibility(
                VisibilityChange(presence: presence?.wire, lastSeen: lastSeen?.wire, receipts: receipts?.wire)))
    }

    /// Who may see the user, and the user's lists. ``Me/visibility`` follows the settings.
    public func visibility() async throws -> MyVisibility {
        guard case .visibility(let visibility) = try await ask(.readVisibility) else {
            preconditionFailure("not an answer to getVisibility")
        }
        return visibility
    }

    /// Lists people as contacts: they see what the user shows to contacts. At most as many in one call as the server
    /// takes ids in one request, 1,000 by default, and `tooMany` beyond; likewise in the other three.
    public func addContacts(_ users: some Sequence<String>) async throws {
        try await change(.addContacts(Self.identifiers(users)))
    }

    /// Takes people off the contacts.
    public func removeContacts(_ users: some Sequence<String>) async throws {
        try await change(.removeContacts(Self.identifiers(users)))
    }

    /// Blocks people: from now on the user looks unknown to them. They are not told.
    public func block(_ users: some Sequence<String>) async throws {
        try await change(.block(Self.identifiers(users)))
    }

    /// Blocks people no longer: they see again what the user shows to them.
    public func unblock(_ users: some Sequence<String>) async throws {
        try await change(.unblock(Self.identifiers(users)))
    }

    private func change(_ body: ClientMessage.Body) async throws {
        _ = try await ask(.changeVisibility(body))
    }
}
