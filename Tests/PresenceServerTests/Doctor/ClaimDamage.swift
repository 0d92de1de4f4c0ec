import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// A feature with unique names, for what the doctor says of them.
final class UniqueNames: Feature {
    static let names = ClaimPlan(
        "nickname", record: "nickname", claim: "nicknamed",
        change: ("nickname-change", "local reply = fulfil(KEYS[3], ARGV[6])\nreturn reply"))
    static let plan = FeaturePlan(name: "nicknames", claims: [names])

    init(_ shard: ShardLogic) {}
}

extension Damage {
    static let everyRepairable = repairable + claims
    static let everyBeyondRepair = beyondRepair + contestedClaims

    private static let claims: [Damage] = [
        Damage("a name that no record names", [.unnamedClaim]) { try $0.claim("soup", for: "bob", "5") },
        Damage("a name whose owner has another", [.unnamedClaim]) {
            try $0.name("bob", "pie", "7")
            try $0.claim("pie", for: "bob", "7")
            try $0.claim("soup", for: "bob", "5")
        },
        Damage("a name that is not taken", [.lostClaim]) { try $0.name("bob", "soup", "5") },
        Damage("an address that a deleted account has claimed", [.unheldAddress]) {
            try $0.redis.command("SET", .string($0.address), "bob 3")
        },
        Damage("an address that its account has changed for another", [.unheldAddress]) {
            try $0.redis.command("SET", .string($0.address), "bob 3")
            let account = $0.partitions.keys(of: UserID("bob")!).account(UserID("bob")!)
            for (field, value) in [("email", "other@example.org"), ("claim", "4"), ("wish", "4")] {
                try $0.set(account, field, value)
            }
            let other = $0.partitions.keys(1).email(EmailAddress("other@example.org")!)
            try $0.redis.command("SET", .string(other), "bob 4")
        },
        Damage("a change of a name with which nobody goes on", [.unlistedIntent]) {
            try $0.set($0.record("bob"), "wish", "6")
            try $0.set($0.record("bob"), "wanted", "soup")
        },
    ]

    private static let contestedClaims: [Damage] = [
        Damage("one name of two users", [.contestedClaim]) {
            try $0.name("bob", "soup", "5")
            try $0.name("cy", "soup", "6")
            try $0.claim("soup", for: "cy", "6")
        },
        Damage("a claim that cannot be read", [.malformedValue]) {
            try $0.redis.command("SET", .string($0.claimKey("soup")), "bob")
        },
    ]
}

extension Installation {
    fileprivate var address: String { partitions.keys(2).email(EmailAddress("ana@example.org")!) }

    fileprivate func record(_ owner: String) -> String {
        partitions.keys(of: Identifier(owner)!).key(UniqueNames.names.record, Identifier(owner)!)
    }

    fileprivate func claimKey(_ thing: String) -> String {
        partitions.keys(of: Identifier(thing)!).key(UniqueNames.names.claim, Identifier(thing)!)
    }

    fileprivate func name(_ owner: String, _ thing: String, _ number: String) throws {
        for (field, value) in [("held", thing), ("heldAs", thing), ("claim", number), ("last", number)] {
            try set(record(owner), field, value)
        }
    }

    fileprivate func claim(_ thing: String, for owner: String, _ number: String) throws {
        try redis.command("SET", .string(claimKey(thing)), .string(owner + " " + number))
    }
}
