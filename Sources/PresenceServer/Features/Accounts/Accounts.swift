import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Accounts: users sign up and sign in here by e-mail and password, and stay signed in on their devices.
///
/// It guarantees that
/// - a sign-up happens completely or not at all: one script creates address, account, profile and first device, because the
///   user's id is drawn into the partition of the address;
/// - passwords are hashed on threads of their own (`passwords`), counted before they are checked, and never logged or stored;
/// - an unknown address and a wrong password are indistinguishable by response and by time;
/// - a device that is signed out loses access at once: its sockets are closed by an event, and its tokens are checked in the
///   store.
final class Accounts: Feature {
    static let passwords = WorkerPlan(
        "passwords", threads: { _ in max(1, WorkerPlan.cores / 4) }, queue: { _ in 64 }, longestWait: 10,
        hasLowPriority: true)
    static let plan = FeaturePlan(
        name: "accounts", isOptional: false, scripts: Script.accounts, keys: KeyFamily.accounts,
        settings: settings, pools: [passwords, MailQueue.pool], check: Accounts.check,
        reload: { configuration, shared, logger in
            guard configuration[enabled], !configuration[mailTemplates].isEmpty else { return }
            await shared.object { CurrentMailTemplates(configuration) }.reload(configuration, logger)
        },
        warnings: Accounts.warnings)

    unowned let shard: ShardLogic
    let rules: PasswordRules
    /// Each user's account, for the user's sessions.
    private let own: OwnState
    let mail: MailQueue
    let templates: CurrentMailTemplates
    let emailChange: EmailChange
    let identityChange: IdentityChange
    /// Empty without accounts.
    let providers: [Provider]
    let directory: ProviderDirectory
    private(set) var late: LateWork!
    private var guestSweep: GuestSweep?
    private(set) var reuses: MetricCounter!
    let loginKey: DrawnKey
    /// `nil` until its key has been read from Redis, which happens before the first call.
    var logins: LoginPartitions? {
        loginKey.bytes.map { LoginPartitions(key: $0, partitions: shard.partitions) }
    }
    /// The feature with usernames, by which users may sign in too.
    weak var usernames: Usernames?
    /// The feature with users' pictures.
    weak var photos: Photos?
    /// Wrong passwords from one address: ten, then one in 3 s. Per shard, like all rates.
    var guesses = Rates<AddressBlock>(RateLimit(every: 3_000, burst: 10))
    /// Password attempts from one address: taken before the check, and given back if the password was right. So neither many
    /// parallel attempts nor clients that disconnect block attempts from other addresses.
    var tries = Rates<AddressBlock>(RateLimit(every: 3_000, burst: 100))
    /// Sign-ups and requested mails from one address: a burst, then one a minute.
    var signUps: Rates<AddressBlock>

    var isOn: Bool { shard.configuration[Accounts.enabled] }

    init(_ shard: ShardLogic) {
        self.shard = shard
        own = OwnState(shard, "account") { [unowned shard] (user) throws(RedisFailure) in
            let reply = try await shard.reply(to: .account(of: user, in: shard.partitions))
            guard reply.word == "OK", let body = reply[0].bytes, let version = reply[1].int else { return nil }
            return Self.own(body, version)
        }
        mail = MailQueue(shard)
        templates = shard.shared.object { [configuration = shard.configuration] in CurrentMailTemplates(configuration) }
        emailChange = EmailChange(shard)
        identityChange = IdentityChange(shard)
        directory = shard.shared.object { ProviderDirectory() }
        loginKey = DrawnKey(
            shard, shard.partitions.space.addressKey, count: LoginPartitions.keyBytes, what: "the key of addresses")
        let configuration = shard.configuration
        let burst = configuration[Accounts.perAddress]
        signUps = Rates(burst > 0 ? RateLimit(every: 60_000, burst: burst) : nil)
        guard configuration[Accounts.enabled] else {
            rules = PasswordRules()
            providers = []
            return
        }
        // `check` has already read the files, so they exist.
        providers = (try? Provider.all(configuration)) ?? []
        let blocked = PasswordRules.list((try? Self.blockedPasswords(configuration)) ?? "")
        rules = PasswordRules(minimum: configuration[Accounts.passwordMinimum], blocked: blocked)
    }

    func register(in registry: inout Registry) {
        guard isOn else { return }
        late = LateWork(shard, in: &registry)
        registerRoutes(in: &registry)
        own.register(in: &registry)
        registry.sessionGreeted.append { [unowned self] in own.greeted($0) }
        registry.event("A", offers: true) { [unowned self] event in
            guard let user = event.subject, shard.sessions.users[user] != nil else { return }
            own.changed(to: Self.own(event.rest, event.version), of: user)
        }
        mail.register(in: &registry)
        emailChange.register(in: &registry)
        identityChange.register(in: &registry)
        if shard.configuration[Accounts.guests] { guestSweep = GuestSweep(self, in: &registry) }
        registry.event("Z", offers: true) { [unowned self] in forget($0) }
        reuses = registry.counter(
            "refresh_reuse_total", help: "refresh tokens used again after their replacement: signed out")
    }

    func storeAgain() async throws(RedisFailure) { if isOn { try await loginKey.read() } }
    func readAgain() async throws(RedisFailure) { if isOn { try await own.readAgain() } }

    func becameLive() {
        guard isOn else { return }
        own.readMissed()
        mail.start()
        guestSweep?.start()
    }

    /// - Throws: If the shard is not live, or does not have the key of addresses yet.
    func liveLogins() throws(Refusal) -> LoginPartitions {
        guard shard.link.isLive, let logins else { throw .noStore }
        return logins
    }

    /// - Throws: A refusal with the message, if the caller's address has requested too many sign-ups and mails.
    func chargeSignUp(_ call: HTTPCall, _ message: String) throws(Refusal) {
        guard let wait = signUps.charge(by: call.address, at: shard.clock.now) else { return }
        throw call.met(.signUps, retryAfter: wait, message)
    }

    private static func own(_ account: some Collection<UInt8>, _ version: Int64) -> OwnState.Held {
        var json = Array(#"{"type":"ownAccount","account":"#.utf8)
        json += account
        json += Array(#","version":\#(version)}"#.utf8)
        return OwnState.Held(version: version, frame: WebSocketFrame.text(json))
    }

    /// Informs the watchers of a deleted user.
    private func forget(_ event: StoreEvent) {
        guard let person = shard.watchers.person(event.subjectBytes) else { return }
        for kind in [RegisterKind.presence, .profile] {
            shard.policies.announce(
                RegisterEncoder.unknown(kind, user: person.subject, at: event.at), kind, on: person, at: event.at)
        }
    }
}
