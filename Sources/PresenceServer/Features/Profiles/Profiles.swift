import CAssets
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
        shard.bodyMark = BodyMark(PhotoPath.mark, replacement: shard.configuration.photoBase + PhotoPath.path)
        registry.request(
            "updateProfile",
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.updateProfile(members) },
            answer: { [unowned self] in try await update($0, $1) })
        registry.route(
            "PATCH", "/v1/users/{id}/profile", scope: .usersWrite,
            answer: { [unowned self] (call) async throws(Refusal) in try await update(call) })
    }

    private func update(_ changes: ProfileChanges, _ context: RequestContext) async throws(Refusal) -> Answer {
        let (profile, version) = try await change(context.user, changes, by: context.writer)
        await shard.tasks.wait { done in shard.whenFollowed(profile: version, of: context.user) { done(()) } }
        var payload: [UInt8] = []
        ServerMessageWriter.profileUpdated(id: context.id, profile: profile, to: &payload)
        return .message(payload)
    }

    private func update(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let changes = try call.decoded { (_) throws(DecodingFailure) in try ProfileChanges.decode(json: call.body) }
        guard !changes.arguments.isEmpty else { throw Refusal(.badRequest, "the body has no member of a profile") }
        return .json(200, Array(#"{"profile":"#.utf8) + (try await change(call.ids[0], changes)).object + [0x7D])
    }

    /// - Returns: The register as clients get it.
    private func change(
        _ user: UserID, _ changes: ProfileChanges, by writer: Writer? = nil
    ) async throws(Refusal) -> (object: [UInt8], version: Int64) {
        guard changes.hasKnownTimezone else { throw Refusal(.unknownTimezone) }
        let keys = shard.partitions.keys(of: user)
        let reply = try await shard.run(
            ScriptCall(
                .profile, in: keys, ["user": keys.user(user), "directory": keys.directory], ["user": user],
                each: changes.arguments, by: writer))
        guard let version = reply[0].int, let body = reply[1].bytes,
            body.withUnsafeBytes({ RegisterEncoder.isBody($0) })
        else {
            shard.recordDamage("profile", of: user)
            throw Refusal(.damagedRecord())
        }
        return (RegisterEncoder.object(version: version, body: shard.bodyMark.filled(body)).bytes, version)
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

    /// Pairs of a member and its encoded value ('' to remove it), as the script takes them.
    var arguments: [String] {
        var words: [String] = []
        func add(_ member: String, _ change: Change<String>) {
            switch change {
            case .keep: break
            case .remove: words += [member, ""]
            case .set(let value): words += [member, JSONWriter.encoded(value)]
            }
        }
        add("displayName", displayName)
        add("photoURL", photoURL)
        add("timezone", timezone)
        add("locale", locale)
        return words
    }
}

extension KeyFamily {
    /// The names of a partition's users, in the order of their bytes: "NAME\u{1F}USER\u{1F}KIND" (`profile-lib.lua`).
    static let directory = KeyFamily(name: "directory", isPassing: false, type: "zset", isOfPartition: true)
}

extension PartitionKeys {
    var directory: String { "\(name):directory" }
}

/// The scripts of this folder's feature.
extension Script {
    static let profileLibrary = ScriptLibrary(asset_profile_lib())

    static let profile = Script("profile", asset_profile(), library: profileLibrary, isAcknowledged: true)
}
