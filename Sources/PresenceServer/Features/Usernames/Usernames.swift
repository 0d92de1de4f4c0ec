import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Usernames: each account has at most one, and each name at most one account.
///
/// It guarantees that
/// - of several who want a name at once, one gets it (`Claiming`);
/// - account and profile change in the same moment as the name, so nobody is seen without one between two;
/// - an account that signs up with a name comes to be with it or not at all: the name is claimed first, for an id that
///   nobody has yet, and the script that makes the account makes the name theirs. If the server dies between the two,
///   the claim is found to be nobody's by the next sweep;
/// - a name that was given up, or whose account was deleted, is free at once, or after a crash with the next sweep.
final class Usernames: Feature {
    static let names = ClaimPlan(
        "username", record: nil, claim: "name",
        change: ("change-username", asset_change_username().text), library: Script.fullLibrary)
    static let plan = FeaturePlan(
        name: "usernames", isOptional: false, settings: [reserved], claims: [names])

    /// Changes of one user, for each shard: 20 at once, then one in two minutes.
    private static let rate = RateLimit(every: 120_000, burst: 20)

    unowned let shard: ShardLogic
    private(set) var claiming: Claiming!
    var accounts: Accounts { shard.feature(Accounts.self)! }
    private let reserved: Set<String>

    init(_ shard: ShardLogic) {
        self.shard = shard
        reserved = Self.reservedNames(shard.configuration[Self.reserved])
    }

    func register(in registry: inout Registry) {
        guard let accounts = shard.feature(Accounts.self), accounts.isOn else { return }
        accounts.usernames = self
        claiming = Claiming(Self.names, shard, in: &registry) { wish, keys in
            ScriptCall(
                Self.names.change, in: keys, ["unfinished": keys.unfinished, "user": keys.user(wish.owner)],
                ["intent": wish.intent, "user": wish.owner, "number": wish.number])
        }
        let limits = RouteLimits(bodyBytes: Accounts.mostBytes)
        let changes = RouteLimits(bodyBytes: Accounts.mostBytes, rate: Self.rate)
        registry.route(
            "GET", "/v1/usernames/{text}", for: .usersOrAnyone, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try await show(call) })
        registry.route(
            "PUT", "/v1/me/username", for: .users, limits: changes,
            answer: { [unowned self] (call) async throws(Refusal) in try await change(call) })
        registry.route(
            "DELETE", "/v1/me/username", for: .users, limits: changes,
            answer: { [unowned self] (call) async throws(Refusal) in try await giveUp(call) })
    }

    // MARK: What a name is good for

    /// Why somebody cannot have a name.
    enum Obstacle: String {
        case invalid, reserved, taken, yours

        var refusal: Refusal {
            switch self {
            case .invalid:
                Refusal(
                    .validationFailed,
                    "username must be 3 to 30 letters, digits, dots and underscores, with no dot first, last or doubled",
                    field: "username", reason: "invalid_username")
            case .reserved:
                Refusal(
                    .validationFailed, "This username is reserved.", field: "username", reason: "reserved_username")
            case .taken, .yours:
                Refusal(.conflict, "This username is taken.", field: "username", reason: "username_taken")
            }
        }
    }

    /// What keeps a user, or somebody without an account, from having a name; `nil` if nothing does.
    func obstacle(to text: String, for user: UserID?) async throws(Refusal) -> Obstacle? {
        guard let username = Username(text) else { return .invalid }
        let holder = try await holder(of: username)
        if let holder, holder.owner == user { return .yours }
        if isReserved(username) { return .reserved }
        return holder == nil ? nil : .taken
    }

    func isReserved(_ username: Username) -> Bool { reserved.contains(username.name.string) }

    private func holder(of username: Username) async throws(Refusal) -> Claiming.Holder? {
        do throws(RedisFailure) { return try await claiming.owner(of: username.name) } catch { throw .noStore }
    }

    // MARK: For accounts

    /// Whose a name is; `nil` if nobody's.
    func find(_ name: String) async throws(Refusal) -> UserID? {
        guard let username = Username(name), let holder = try await holder(of: username) else { return nil }
        return holder.isHeld ? holder.owner : nil
    }

    /// Gives a name that was checked to an account that comes to be with it, by the script of `change`.
    ///
    /// - Returns: As `Claiming.want` does.
    func claim(
        _ name: String, for user: UserID, with change: @escaping ClaimChange
    ) async throws(Refusal) -> ScriptReply {
        guard let username = Username(name) else { preconditionFailure("a username was not checked") }
        let reply = try await claiming.want(username.name, as: username.shown, for: user, change: change)
        // Nobody ever gets this id, so nobody misses the record, which is all that there is; it holds nothing.
        if reply[0].string == "TAKEN" {
            _ = try? await shard.command(["HDEL", shard.partitions.keys(of: user).user(user), "last"])
        }
        return reply
    }

    /// Frees what was the name of an account that was deleted. Another server does it if this one does not get to it.
    func release(of user: UserID) async { await claiming.finish(user) }
}
