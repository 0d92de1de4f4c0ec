import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Profiles: changes by users, and by backends for them.
final class Profiles: Feature {
    static let plan = FeaturePlan(name: "profiles", isOptional: false, scripts: [.profile], keys: [.directory])

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        shard.bodyMark = BodyMark(PhotoAddress.mark, told: shard.configuration.photoBase + PhotoAddress.path)
        registry.request(
            "updateProfile",
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.updateProfile(members) }
        ) { [unowned self] changes, context in update(changes, context) }
        registry.route(
            "PATCH", "/v1/users/{id}/profile", scope: .usersWrite,
            answer: { [unowned self] (call) async throws(Refusal) in try await update(call) })
    }

    private func update(_ changes: ProfileChanges, _ context: RequestContext) {
        guard changes.hasKnownTimezone else {
            return shard.refuse(ProfileChanges.unknownTimezone.with(id: context.id), on: context.connection)
        }
        shard.write(context.connection, context.id) { done in
            shard.run(change(of: context.user, changes, by: context.writer)) { [unowned shard] result in
                guard let words = (try? result.get())?.array, words.first?.string == "OK", words.count > 1 else {
                    return done(result)
                }
                shard.whenFollowed(profile: words[1].int ?? 0, of: context.user) { done(result) }
            }
        } succeeded: { [unowned shard] words in
            guard let profile = Self.profileObject(words, shard.bodyMark) else {
                shard.recordDamage("profile", of: context.user)
                return shard.replies.error(.damagedRecord(context.id), to: context.connection)
            }
            var payload: [UInt8] = []
            ServerMessageWriter.profileUpdated(id: context.id, profile: profile, to: &payload)
            shard.replies.send(payload, to: context.connection)
        }
    }

    private func update(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let changes = try call.decoded { (_) throws(DecodingFailure) in try ProfileChanges.decode(json: call.body) }
        guard !changes.arguments.isEmpty else { throw Refusal(.badRequest, "the body has no member of a profile") }
        guard changes.hasKnownTimezone else { throw Refusal(.unknownTimezone) }
        let reply = try await shard.run(change(of: call.ids[0], changes))
        guard let profile = Self.profileObject(reply.value.array ?? [], shard.bodyMark) else {
            shard.recordDamage("profile", of: call.ids[0])
            throw Refusal(.damagedRecord())
        }
        return .json(200, Array(#"{"profile":"#.utf8) + profile + [0x7D])
    }

    private func change(of user: UserID, _ changes: ProfileChanges, by writer: Writer? = nil) -> ScriptCall {
        let keys = shard.partitions.keys(of: user)
        return ScriptCall(
            .profile, in: keys, ["user": keys.user(user), "directory": keys.directory], ["user": user],
            each: changes.arguments, by: writer)
    }

    /// The register in `OK, version, BODY`; `nil` if it is damaged.
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
    /// The protocol defines the form of a name; the host's data decide whether there is such a zone.
    var hasKnownTimezone: Bool {
        if case .set(let name) = timezone { TimeZones.has(name) } else { true }
    }

    static var unknownTimezone: ServerMessage.ErrorMessage { DecodingFailure.unknownTimezone.errorMessage }

    /// Pairs of a member and its encoded value ('' to remove it), as the script takes them.
    var arguments: [String] {
        let members = [
            ("displayName", displayName), ("photoURL", photoURL), ("timezone", timezone), ("locale", locale),
        ]
        return members.flatMap { member, change -> [String] in
            switch change {
            case .keep: []
            case .remove: [member, ""]
            case .set(let value): [member, JSONWriter.encoded(value)]
            }
        }
    }
}
