import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Profiles: what users, and backends for them, say about a user.
final class Profiles: Feature {
    static let plan = FeaturePlan(name: "profiles", isOptional: false, scripts: [.profile])

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        shard.bodyMark = BodyMark(PhotoAddress.mark, told: shard.configuration.photoBase + PhotoAddress.path)
        registry.request(
            "updateProfile",
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.updateProfile(members) }
        ) { [unowned self] changes, context in update(changes, context) }
        registry.route("PATCH", "/v1/users/{id}/profile") { [unowned self] (call) throws(DecodingFailure) in
            try update(call)
        }
    }

    private func update(_ changes: ProfileChanges, _ context: RequestContext) {
        guard changes.hasKnownTimezone else {
            return shard.refuse(ProfileChanges.unknownTimezone.with(id: context.id), on: context.connection)
        }
        shard.write(context.connection, context.id) { done in
            change(profileOf: context.user, changes, by: context.writer) { [unowned shard] result in
                guard let words = (try? result.get())?.array, words.first?.string == "OK", words.count > 1 else {
                    return done(result)
                }
                shard.whenFollowed(profile: words[1].int ?? 0, of: context.user) { done(result) }
            }
        } succeeded: { [unowned shard] words in
            guard let profile = Self.profileObject(words, shard.bodyMark) else {
                shard.noteDamage("profile", of: context.user)
                return shard.replies.error(.damagedRecord(context.id), to: context.connection)
            }
            var payload: [UInt8] = []
            ServerMessageWriter.profileUpdated(id: context.id, profile: profile, to: &payload)
            shard.replies.send(payload, to: context.connection)
        }
    }

    private func update(_ call: HTTPCall) throws(DecodingFailure) {
        let changes = try ProfileChanges.decode(json: call.body)
        guard !changes.arguments.isEmpty else {
            return call.refuse(400, .badRequest, "the body has no member of a profile")
        }
        guard changes.hasKnownTimezone else { return call.refuse(422, ProfileChanges.unknownTimezone) }
        let user = call.ids[0]
        call.write {
            change(profileOf: user, changes, by: nil, done: $0)
        } succeeded: { [unowned shard] words in
            guard let profile = Self.profileObject(words.array ?? [], shard.bodyMark) else {
                shard.noteDamage("profile", of: user)
                return .error(500, .damagedRecord())
            }
            return .json(200, Array(#"{"profile":"#.utf8) + profile + [0x7D])
        }
    }

    private func change(
        profileOf user: UserID, _ changes: ProfileChanges, by writer: Writer?, done: @escaping StoreReply
    ) {
        let keys = shard.partitions.keys(of: user)
        shard.store.run(
            .profile, keys: [keys.shards, keys.floor, keys.user(user)] + writer.keys,
            arguments: [keys.events, shard.link.incarnation, user.string] + changes.arguments, lane: .commands,
            reply: done)
    }

    /// The register of `OK, version, BODY`; `nil` if that is damaged.
    private static func profileObject(_ words: [RedisValue], _ mark: BodyMark?) -> [UInt8]? {
        guard words.count >= 3, let version = words[1].int, let body = words[2].bytes,
            body.withUnsafeBytes({ RegisterFrame.isBody($0) })
        else { return nil }
        return RegisterFrame.object(version: version, body: mark.filled(body)).bytes
    }
}

extension DecodingFailure {
    static let unknownTimezone = DecodingFailure(
        code: .validationFailed, message: "timezone must be the name of a time zone, such as Europe/Paris",
        field: "timezone")
}

extension ProfileChanges {
    /// The shape of a name is the protocol's business; whether there is such a zone, the host's data say.
    var hasKnownTimezone: Bool {
        if case .set(let name) = timezone { TimeZones.has(name) } else { true }
    }

    static var unknownTimezone: ServerMessage.ErrorMessage { DecodingFailure.unknownTimezone.errorMessage }

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
