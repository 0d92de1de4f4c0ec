import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Usernames: each account has at most one, and each name at most one account.
///
/// It guarantees that
/// - a name that several users want at once is given to one of them (`Claiming`);
/// - account, profile and name change in the same step, so a user is never seen without a name in between;
/// - a sign-up with a name creates the account with the name or not at all: the name is claimed first, for an id that is not in
///   use yet, and the script that makes the account gives it the name. If the server dies between claim and account, the next
///   sweep finds that the claim has no owner;
/// - a name that was given up, or whose account was deleted, is free at once, or, after a crash, with the next sweep;
/// - a look-up of a user by name has the same answer and the same commands of Redis whether the name has no owner, or one
///   who hides from the caller, or one who blocks the caller.
final class Usernames: Feature {
    static let names = ClaimPlan(
        "username", record: nil, claim: "name",
        change: ("change-username", asset_change_username().text), library: Script.fullLibrary)
    static let plan = FeaturePlan(
        name: "usernames", isOptional: false, scripts: [.peopleStarting], settings: [reserved, directory],
        claims: [names])

    /// Changes of one user, for each shard: 20 at once, then one in two minutes.
    private static let rate = RateLimit(every: 120_000, burst: 20)

    /// Look-ups of users by one user, by name and in the directory, for each shard: 60 at once, then one a second.
    private var lookUps = Rates<UserID>(RateLimit(every: 1_000, burst: 60))

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
                Self.names.change, in: keys,
                [
                    "unfinished": keys.unfinished, "user": keys.user(wish.owner), "directory": keys.directory,
                ],
                ["intent": wish.intent, "user": wish.owner, "number": wish.number])
        }
        let limits = RouteLimits(bodyBytes: Accounts.mostBytes)
        let changes = RouteLimits(bodyBytes: Accounts.mostBytes, rate: Self.rate)
        registry.route(
            "GET", "/v1/usernames/{text}", for: .usersOrAnyone, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try await show(call) })
        registry.route(
            "GET", "/v1/usernames/{text}/user", for: .users, scope: .usersRead, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try await showOwner(call) })
        if shard.configuration[Self.directory] {
            registry.route(
                "GET", "/v1/people", for: .users, scope: .usersRead, limits: limits,
                answer: { [unowned self] (call) async throws(Refusal) in try await showPeople(call) })
        }
        registry.route(
            "PUT", "/v1/me/username", for: .users, limits: changes,
            answer: { [unowned self] (call) async throws(Refusal) in try await change(call) })
        registry.route(
            "DELETE", "/v1/me/username", for: .users, limits: changes,
            answer: { [unowned self] (call) async throws(Refusal) in try await release(call) })
    }

    /// - Parameter user: `nil` for a backend, which has no limit.
    func chargeLookUp(by user: UserID?) throws(Refusal) {
        guard let user else { return }
        let now = shard.clock.now
        lookUps.expire(now: now)
        guard let wait = lookUps.charge(1, to: user, at: now) else { return }
        throw shard.met(.userRequests, retryAfter: wait)
    }

    // MARK: Whether a name is available

    /// Why a user cannot have a name.
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

    /// Why a user, or a caller without an account, cannot have a name; `nil` if they can.
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

    /// The owner of a name; `nil` if the name has no owner.
    func find(_ name: String) async throws(Refusal) -> UserID? {
        guard let username = Username(name), let holder = try await holder(of: username) else { return nil }
        return holder.isHeld ? holder.owner : nil
    }

    /// Gives a checked name to an account that is being made, by the script of `change`.
    ///
    /// - Returns: the same as `Claiming.want`.
    func claim(
        _ name: String, for user: UserID, with change: @escaping ClaimChange
    ) async throws(Refusal) -> ScriptReply {
        guard let username = Username(name) else { preconditionFailure("a username was not checked") }
        let reply = try await claiming.want(username.name, as: username.shown, for: user, change: change)
        // This user id is never used again, so the record, which has nothing else, is removed.
        if reply[0].string == "TAKEN" {
            _ = try? await shard.command(["HDEL", shard.partitions.keys(of: user).user(user), "last"])
        }
        return reply
    }

    /// Frees the name of a deleted account. If this server fails, another server frees it.
    func release(of user: UserID) async { await claiming.finish(user) }
}

extension Usernames {
    static let reserved = Setting<String>(
        "accounts.reservedUsernames", standardReserved,
        about: "Usernames that users cannot choose, with commas or spaces between them.")

    static let directory = Setting<Bool>(
        "accounts.directory", false,
        about: "Whether users find others by the beginning of a username or display name, not only by a whole username."
    )

    /// Names that users would take for the operator's own, or that apps use in their addresses.
    private static let standardReserved =
        "about, abuse, account, accounts, admin, administrator, all, anonymous, api, app, billing, contact, everyone, "
        + "guest, help, here, hostmaster, info, legal, login, logout, mail, me, moderator, noreply, nobody, null, "
        + "official, owner, postmaster, presence, privacy, root, security, settings, signin, signup, staff, status, "
        + "support, sysadmin, system, team, terms, undefined, user, username, users, webmaster, www"

    static func reservedNames(_ text: String) -> Set<String> {
        Set(text.lowercased().split { ", \t\n".contains($0) }.map(String.init))
    }
}
