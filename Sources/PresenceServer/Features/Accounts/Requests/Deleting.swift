import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `DELETE /v1/me`, and the calls of backends about accounts.
extension Accounts {
    func deleteOwn(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let (password, provider, erases) = try call.body { (body) throws(DecodingFailure) in
            (try body.optionalText("password"), try body.optionalText("provider"), try Self.erases(body))
        }
        if password == nil, provider != nil { return try await deleteIdentified(call, erases: erases) }
        guard let password else { return try await deleteGuest(call, erases: erases) }
        let account = try await confirm(call, password)
        return try await remove(account.user, held: account.held, erases: erases, by: call.writer)
    }

    /// `{"messages":"keep"|"delete"}`
    private static func erases(_ body: RequestObject) throws(DecodingFailure) -> Bool {
        switch try body.optionalText("messages") {
        case "keep", nil: false
        case "delete": true
        default: throw .invalid("messages", "must be keep or delete")
        }
    }

    /// Deletes an account and all its data in one script, including its address, unless a change of address put the address
    /// into another partition. In that case the intent of such changes releases the address afterwards. Until then the claim is
    /// void, and the next request for the address detects this.
    ///
    /// - Parameters:
    ///   - held: The hash with which the password was compared; `nil` if no password was required.
    ///   - guest: Deletes only a guest.
    ///   - erases: Whether the user's messages are deleted too. The script records it; `Departing` does it.
    func remove(
        _ user: UserID, held: PasswordHash?, guest: UnusedGuest? = nil, erases: Bool = false, by writer: Writer?
    ) async throws(Refusal) -> HTTPResponse {
        guard let logins else { throw .noStore }
        let keys = shard.partitions.keys(of: user)
        let email = try await shard.run("HGET", keys.user(user), "email").string.flatMap { EmailAddress($0) }
        let isHere = email.map { logins.partition(of: $0.text) == shard.partitions.index(of: user) } ?? false
        let reply = try await shard.run(
            keys.deletion(of: user, isHere ? email! : .nobody, held: held, guest: guest, erases: erases, by: writer)
        ).accepted(or: AccountRefusal.self)
        if reply[0].string == "1" { emailChange.finish(user) }
        if reply[2].string == "1" { identityChange.finish(user) }
        shard.feature(Conversations.self)?.departing.begin(user)
        shard.feature(ContactRequests.self)?.asking.begin(user)
        // Sweeps complete whatever fails here.
        if let photo = reply[1].string.flatMap({ StoredName($0) }) { await photos?.forget(photo, of: user) }
        await usernames?.release(of: user)
        return .done
    }

    // MARK: Backends

    func show(_ user: UserID) async throws(Refusal) -> HTTPResponse {
        guard let account = try await account(of: user)[0].bytes else { throw shard.damaged(user) }
        return .account(account)
    }

    func setDisabled(_ isDisabled: Bool, _ user: UserID) async throws(Refusal) -> HTTPResponse {
        _ = try await shard.run(shard.partitions.keys(of: user).disabling(user, isDisabled))
            .accepted(or: AccountRefusal.self)
        return .done
    }
}

// The calls of scripts that servers and the console share.
extension PartitionKeys {
    /// - Parameter email: The account's address, if it lies in this partition.
    func deletion(
        of user: UserID, _ email: EmailAddress, held: PasswordHash? = nil, guest: UnusedGuest? = nil,
        erases: Bool = false, by writer: Writer? = nil
    ) -> ScriptCall {
        ScriptCall(
            .deleteAccount, in: self,
            [
                "unfinished": unfinished, "user": self.user(user), "sessions": sessions(user), "grants": grants(user),
                "contacts": contacts(user), "blocks": blocks(user), "creations": creations(user),
                "emails": emails(with: email), "inbox": inbox(user), "history": history(user),
                "notifications": notifications(user), "notificationMarks": notificationMarks(user),
                "devices": devices(user), "pushed": pushed(user), "held": self.held, "mail": mail, "mailing": mailing,
                "guests": guests, "directory": directory, "asked": asked(user),
            ],
            [
                "user": user, "compared": held?.bytes.hexadecimal, "unused": guest?.argument,
                "nameIntent": Usernames.names.intent(of: user),
                "leaveIntent": "\(Departing.name) \(user.string)", "emailIntent": EmailChange.member(of: user),
                "erases": erases, "identityIntent": IdentityChange.member(of: user),
                "askingIntent": ContactRequests.asking(user),
            ], by: writer)
    }

    func disabling(_ user: UserID, _ isDisabled: Bool) -> ScriptCall {
        ScriptCall(
            .disableAccount, in: self, ["user": self.user(user), "grants": grants(user)],
            ["user": user, "isDisabled": isDisabled])
    }
}
