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
        name: "usernames", isOptional: false, settings: [.reservedUsernames], claims: [names])

    /// Changes of one user, for each shard: 20 at once, then one in two minutes.
    private static let rate = RateLimit(every: 120_000, burst: 20)

    unowned let shard: ShardLogic
    private var claiming: Claiming!
    private let reserved: Set<String>

    init(_ shard: ShardLogic) {
        self.shard = shard
        reserved = Self.reservedNames(shard.configuration[text: .reservedUsernames])
    }

    func register(in registry: inout Registry) {
        guard let accounts = shard.feature(Accounts.self), accounts.isOn else { return }
        accounts.usernames = self
        claiming = Claiming(Self.names, shard, in: &registry) { [$1.user($0), $1.account($0)] }
        let limits = RouteLimits(bodyBytes: Accounts.mostBytes)
        let changes = RouteLimits(bodyBytes: Accounts.mostBytes, rate: Self.rate)
        registry.route("GET", "/v1/usernames/{text}", for: .usersOrAnyone, limits: limits) { [unowned self] call in
            show(call)
        }
        registry.route("PUT", "/v1/me/username", for: .users, limits: changes) {
            [unowned self] (call) throws(DecodingFailure) in
            try change(call)
        }
        registry.route("DELETE", "/v1/me/username", for: .users, limits: changes) { [unowned self] call in
            giveUp(call)
        }
    }

    // MARK: What a name is good for

    /// Why somebody cannot have a name.
    enum Obstacle: String {
        case invalid, reserved, taken, yours

        var refusal: ServerMessage.ErrorMessage {
            switch self {
            case .invalid:
                .init(
                    code: .validationFailed,
                    message:
                        "username must be 3 to 30 letters, digits, dots and underscores, with no dot first, last or doubled",
                    field: "username", reason: "invalid_username")
            case .reserved:
                .init(
                    code: .validationFailed, message: "This username is reserved.", field: "username",
                    reason: "reserved_username")
            case .taken, .yours:
                .init(
                    code: .conflict, message: "This username is taken.", field: "username", reason: "username_taken")
            }
        }
    }

    /// What keeps a user, or somebody without an account, from having a name; `nil` if nothing does.
    func obstacle(
        to text: String, for user: UserID?, found: @escaping (Result<Obstacle?, RedisFailure>) -> Void
    ) {
        guard let username = Username(text) else { return found(.success(.invalid)) }
        claiming.owner(of: username.name) { [self] result in
            found(
                result.map { holder in
                    if let holder, holder.owner == user { return .yours }
                    if isReserved(username) { return .reserved }
                    return holder == nil ? nil : .taken
                })
        }
    }

    func isReserved(_ username: Username) -> Bool { reserved.contains(username.name.string) }

    /// - Parameter reply: As that of `Claiming.want`.
    func want(_ username: Username?, for user: UserID, by writer: Writer?, reply: @escaping StoreReply) {
        claiming.want(username?.name, as: username?.shown ?? "", for: user, by: writer, reply: reply)
    }
}

extension Usernames: AccountNames {
    func find(_ name: String, found: @escaping (Result<UserID?, RedisFailure>) -> Void) {
        guard let username = Username(name) else { return found(.success(nil)) }
        claiming.owner(of: username.name) { found($0.map { $0.flatMap { $0.isHeld ? $0.owner : nil } }) }
    }

    func check(_ name: String, found: @escaping (Result<ServerMessage.ErrorMessage?, RedisFailure>) -> Void) {
        obstacle(to: name, for: nil) { found($0.map { $0?.refusal }) }
    }

    func claim(_ name: String, for user: UserID, with change: ClaimChange, reply: @escaping StoreReply) {
        guard let username = Username(name) else { preconditionFailure("a username was not checked") }
        claiming.want(username.name, as: username.shown, for: user, change: change) { [self] result in
            // Nobody ever gets this id, so nobody misses the record, which is all that there is; it holds nothing.
            if case .success(let value) = result, value.array?.last?.string == "TAKEN" {
                let key = shard.partitions.keys(of: user).user(user)
                shard.store.command(["HDEL", key, "last"], lane: .commands) { _ in }
            }
            reply(result)
        }
    }

    func release(of user: UserID, done: @escaping () -> Void) { claiming.finish(user) { _ in done() } }

    var takenRefusal: ServerMessage.ErrorMessage { Obstacle.taken.refusal }
}

extension PartitionKeys {
    func username(_ user: UserID) -> String { Usernames.names.record(of: user, in: self) }
}
