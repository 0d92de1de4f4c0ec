import PresenceProtocol

extension PresenceClient {
    /// Sets who may see the user, for all their devices. It takes effect at once, also for current observers.
    ///
    /// - Parameters:
    ///   - presence: the users who may see the presence. To all others the user looks unknown.
    ///   - lastSeen: the users among them who may also see when the user was last online. It is mutual: the user only
    ///     sees it for users who may see theirs.
    ///   - receipts: whether the members of a conversation see how far the user has read: `everyone` or `nobody`. It is
    ///     mutual. When it is enabled again, only later marks are shown.
    ///   - findable: the users who find the user by username.
    ///   - conversationsFrom: the users who may begin a conversation with this user alone: `everyone` or `contacts`. A
    ///     conversation that another user begins is a request (`ChatConversation.isRequest`) until this user writes there
    ///     or accepts it (``answerContact(_:accept:)``).
    ///
    /// `nil` keeps a setting. The defaults are `everyone`.
    /// - Throws: `notConnected` or `connectionLost`, as ``createConversation(with:)``; `validationFailed` for an
    ///   audience that a setting does not have.
    public func setVisibility(
        presence: Audience? = nil, lastSeen: Audience? = nil, receipts: Audience? = nil, findable: Audience? = nil,
        conversationsFrom: Audience? = nil
    ) async throws {
        try await change(
            .setVisibility(
                VisibilityChange(
                    presence: presence?.wire, lastSeen: lastSeen?.wire, receipts: receipts?.wire,
                    findable: findable?.wire, conversationsFrom: conversationsFrom?.wire)))
    }

    /// Reads the user's visibility settings and lists. ``Me/visibility`` observes the settings.
    public func visibility() async throws -> Me.Visibility {
        guard case .visibility(let visibility) = try await ask(.readVisibility) else {
            preconditionFailure("not an answer to getVisibility")
        }
        return visibility
    }

    /// Adds users to the contacts, who may see what the user shows to contacts. One call takes at most as many ids as
    /// the server accepts in one request (1,000 by default); more fail with `tooMany`. The same limit applies to the
    /// next three methods.
    public func addContacts(_ users: some Sequence<String>) async throws {
        try await change(.addContacts(Self.identifiers(users)))
    }

    /// Removes users from the contacts.
    public func removeContacts(_ users: some Sequence<String>) async throws {
        try await change(.removeContacts(Self.identifiers(users)))
    }

    /// Blocks users: from now on this user looks unknown to them. They are not notified.
    public func block(_ users: some Sequence<String>) async throws {
        try await change(.block(Self.identifiers(users)))
    }

    /// Unblocks users: they see again what this user shows to them.
    public func unblock(_ users: some Sequence<String>) async throws {
        try await change(.unblock(Self.identifiers(users)))
    }

    private func change(_ body: ClientMessage.Body) async throws {
        _ = try await ask(.changeVisibility(body))
    }
}
