import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Accounts: people sign up and sign in here, by e-mail and password, and stay signed in on their devices.
///
/// It guarantees that
/// - a sign-up is whole or has not been: address, account, profile and first device are one script, for the user's id is
///   drawn into the partition of the address;
/// - a password is hashed on threads of its own (`passwords`), counted before it is looked at, and nowhere logged or kept;
/// - an address that nobody has and a wrong password cannot be told apart, by answer or by time;
/// - a device that is signed out is out at once: its sockets end by an event, its tokens are asked about in the store.
final class Accounts: Feature {
    static let passwords = WorkerPlan(
        "passwords", threads: { _ in max(1, WorkerPlan.cores / 4) }, queue: { _ in 64 }, longestWait: 10,
        hasLowPriority: true)
    static let plan = FeaturePlan(
        name: "accounts", isOptional: false, scripts: Script.accounts, keys: KeyFamily.accounts,
        settings: settings, pools: [passwords, MailQueue.pool], check: Accounts.check,
        warnings: Accounts.warnings)

    unowned let shard: ShardLogic
    let rules: PasswordRules
    let own: OwnAccounts
    let mail: MailQueue
    let emailChange: EmailChange
    private(set) var reuses: MetricCounter!
    let addressKey: DrawnKey
    /// `nil` until its key is read from Redis, which is before the first call.
    var addresses: AddressPartitions? {
        addressKey.bytes.map { AddressPartitions(key: $0, partitions: shard.partitions) }
    }
    /// Names by which users may sign in too, if there is such a feature.
    weak var usernames: Usernames?
    /// Their pictures, if there is such a feature.
    weak var photos: Photos?
    /// Wrong passwords from one address: ten, then one in 3 s. Of this shard, like all rates.
    var guesses = Rates<AddressBlock>(RateLimit(every: 3_000, burst: 10))
    /// Passwords tried from one address: taken before one is looked at, and given back if it was right. So neither many at once nor
    /// clients that hang up keep others from being looked at.
    var tries = Rates<AddressBlock>(RateLimit(every: 3_000, burst: 100))
    /// Accounts made, and mails asked for, from one address: so many, then one a minute.
    var signUps: Rates<AddressBlock>

    var isOn: Bool { shard.configuration[Accounts.enabled] }

    init(_ shard: ShardLogic) {
        self.shard = shard
        own = OwnAccounts(shard)
        mail = MailQueue(shard)
        emailChange = EmailChange(shard)
        addressKey = DrawnKey(
            shard, shard.partitions.space.addressKey, count: AddressPartitions.keyBytes, what: "the key of addresses")
        let configuration = shard.configuration
        let burst = configuration[Accounts.perAddress]
        signUps = Rates(burst > 0 ? RateLimit(every: 60_000, burst: burst) : nil)
        guard configuration[Accounts.enabled] else {
            rules = PasswordRules()
            return
        }
        // The file was read before, by `check`: it is there.
        let blocked = PasswordRules.list((try? Self.blockedPasswords(configuration)) ?? "")
        rules = PasswordRules(minimum: configuration[Accounts.passwordMinimum], blocked: blocked)
    }

    func register(in registry: inout Registry) {
        guard isOn else { return }
        registerRoutes(in: &registry)
        own.register(in: &registry)
        mail.register(in: &registry)
        emailChange.register(in: &registry)
        registry.event("Z", offers: true) { [unowned self] in forget($0) }
        reuses = registry.counter(
            "refresh_reuse_total", help: "refresh tokens shown again after they were replaced: signed out")
    }

    func sessionGreeted(_ session: Session) { if isOn { own.greeted(session) } }
    func sessionEnded(_ session: Session) { if isOn { own.ended(session) } }

    func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void) {
        guard isOn else { return done(nil) }
        switch step {
        case .assert: addressKey.read(done)
        case .reload: own.reload(done)
        case .live:
            own.readMissed()
            mail.start()
            done(nil)
        case .lost: done(nil)
        }
    }

    /// - Throws: Until the shard is live and knows the key of addresses.
    func liveAddresses() throws(Refusal) -> AddressPartitions {
        guard shard.link.isLive, let addresses else { throw .noStore }
        return addresses
    }

    /// - Throws: If the caller's address has asked for too many sign-ups and mails: with the message.
    func chargeSignUp(_ call: HTTPCall, _ message: String) throws(Refusal) {
        guard let wait = signUps.take(by: call.address, at: shard.clock.now) else { return }
        throw call.met(.signUps, retryAfter: wait, message)
    }

    /// A user was deleted: watchers are told.
    private func forget(_ event: StoreEvent) {
        guard let person = shard.watchers.person(event.subjectBytes) else { return }
        for kind in [RegisterKind.presence, .profile] {
            shard.policies.announce(
                RegisterFrame.unknown(kind, user: person.subject, at: event.at), kind, on: person, at: event.at)
        }
    }
}
