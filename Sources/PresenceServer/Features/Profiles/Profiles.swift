import PresenceProtocol
import Redis

/// What people say of themselves.
extension ShardLogic {
    func updateProfile(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ changes: ProfileChanges
    ) {
        guard changes.hasKnownTimezone else {
            return refuse(ProfileChanges.unknownTimezone.with(id: id), on: connection)
        }
        write(connection, id) { [self] done in
            change(profileOf: session.user.id, changes, done: done)
        } succeeded: { [self] words in
            guard let profile = Self.profileObject(words) else {
                noteDamage("profile", of: session.user.id)
                return replies.error(Self.damaged(id), to: connection)
            }
            var payload: [UInt8] = []
            ServerMessageWriter.profileUpdated(id: id, profile: profile, to: &payload)
            replies.send(payload, to: connection)
        }
    }

    func change(profileOf user: UserID, _ changes: ProfileChanges, done: @escaping StoreReply) {
        let keys = partitions.keys(of: user)
        store.run(
            .profile, keys: [keys.shards, keys.floor, keys.user(user)],
            arguments: [keys.events, link.incarnation, user.string] + changes.arguments, lane: .commands, reply: done)
    }

    /// The register of `OK, version, BODY`; `nil` if that is damaged.
    static func profileObject(_ words: [RedisValue]) -> [UInt8]? {
        guard words.count >= 3, let version = words[1].int, let body = words[2].bytes,
            body.withUnsafeBytes({ RegisterFrame.isBody($0) })
        else { return nil }
        return RegisterFrame.object(version: version, body: body).bytes
    }
}

extension ProfileChanges {
    /// The shape of a name is the protocol's business; whether there is such a zone, the host's data say.
    var hasKnownTimezone: Bool {
        if case .set(let name) = timezone { TimeZones.has(name) } else { true }
    }

    static let unknownTimezone = ServerMessage.ErrorMessage(
        code: .validationFailed, message: "timezone must be the name of a time zone, such as Europe/Paris",
        field: "timezone")

    /// Pairs of member and encoded value, '' to remove, as the script takes them.
    var arguments: [String] {
        let members = [
            ("displayName", displayName), ("photoURL", photoURL), ("timezone", timezone), ("locale", locale),
        ]
        return members.flatMap { member, change -> [String] in
            switch change {
            case .keep: []
            case .remove: [member, ""]
            case .set(let value): [member, StatusArguments.encoded(value)]
            }
        }
    }
}
