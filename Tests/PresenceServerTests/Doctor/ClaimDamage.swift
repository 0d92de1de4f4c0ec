import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// A feature with unique names, for the doctor's findings about claims.
final class UniqueNames: Feature {
    static let names = ClaimPlan(
        "nickname", record: "nickname", claim: "nicknamed",
        change: ("nickname-change", "local reply = fulfil(KEYS[3], ARGV[6])\nreturn reply"))
    static let plan = FeaturePlan(name: "nicknames", claims: [names])

    init(_ shard: ShardLogic) {}
}

extension Damage {
    static let everyRepairable = repairable + claims + ofConversations
    static let everyBeyondRepair = beyondRepair + contestedClaims + ofConversationsBeyondRepair

    private static let claims: [Damage] = [
        Damage("a name without a record", [.unnamedClaim]) { try $0.claim("soup", for: "bob", "5") },
        Damage("a name whose owner has another", [.unnamedClaim]) {
            try $0.name("bob", "pie", "7")
            try $0.claim("pie", for: "bob", "7")
            try $0.claim("soup", for: "bob", "5")
        },
        Damage("a name that its owner's open change does not release", [.unnamedClaim]) {
            try $0.isGivingUp("soup", number: "5", of: "bob", for: "pie", number: "7")
            try $0.claim("stew", for: "bob", "5")
        },
        Damage("a name without a claim", [.lostClaim]) { try $0.name("bob", "soup", "5") },
        Damage("an address that a deleted account has claimed", [.unheldAddress]) {
            try $0.claim("ana@example.org", "bob 3", in: 2)
        },
        Damage("an address that its account has replaced", [.unheldAddress]) {
            try $0.claim("ana@example.org", "bob 3", in: 2)
            let account = $0.partitions.keys(of: UserID("bob")!).account(UserID("bob")!)
            for (field, value) in [("email", "other@example.org"), ("emailClaim", "4"), ("emailWish", "4")] {
                try $0.set(account, field, value)
            }
            try $0.claim("other@example.org", "bob 4", in: 1)
        },
        Damage("an address that is not claimed for its account", [.lostAddress]) {
            try $0.account("bob", "bob@example.org", "3")
        },
        Damage("an address claimed by a change that was never made", [.unheldAddress, .lostAddress]) {
            try $0.account("bob", "bob@example.org", "3")
            try $0.claim("bob@example.org", "bob 4")
        },
        Damage("an address claimed by an account that has another", [.unheldAddress, .lostAddress]) {
            try $0.account("bob", "bob@example.org", "3")
            try $0.claim("bob@example.org", "cy 4")
        },
        Damage("a change of an address that no server continues", [.unlistedAddressChange]) {
            try $0.account("bob", "bob@example.org", "3")
            try $0.claim("bob@example.org", "bob 3")
            try $0.set($0.user("bob"), "emailWanted", "other@example.org \(try $0.time(600_000))")
            try $0.set($0.user("bob"), "emailWish", "4")
        },
        Damage("a deleted account whose address no server releases", [.unlistedAddressChange]) {
            try $0.claim("bob@example.org", "bob 3")
            try $0.set($0.user("bob"), "emailReleasing", "3 bob@example.org")
        },
        Damage("an identity that a deleted account has claimed", [.unheldIdentity]) {
            try $0.claim(identity: "a1", "bob 3")
        },
        Damage("an identity that its account has linked again", [.unheldIdentity, .lostIdentity]) {
            try $0.link("a1", to: "bob", "4")
            try $0.claim(identity: "a1", "bob 3")
        },
        Damage("an identity that is not claimed for its account", [.lostIdentity]) {
            try $0.link("a1", to: "bob", "3")
            try $0.link("b2", to: "bob", "4")
            try $0.claim(identity: "b2", "bob 4")
        },
        Damage("an identity that no server links", [.unlistedIdentityChange]) {
            try $0.claim(identity: "a1", "bob 3")
            try $0.set($0.user("bob"), "identityWanted", "\(Installation.digest("a1")) 3 \(try $0.time(600_000))")
        },
        Damage("a deleted account whose identity no server releases", [.unlistedIdentityChange]) {
            try $0.claim(identity: "a1", "bob 3")
            try $0.set($0.user("bob"), "identityReleasing", "3 \(Installation.digest("a1"))")
        },
        Damage("a change of a name that no server continues", [.unlistedIntent]) {
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
        Damage("one address of two accounts", [.contestedAddress]) {
            try $0.account("bob", "bob@example.org", "3")
            try $0.account("dee", "bob@example.org", "4")
            try $0.claim("bob@example.org", "dee 4")
        },
        Damage("one identity of two accounts", [.contestedIdentity]) {
            try $0.link("a1", to: "bob", "3")
            try $0.link("a1", to: "dee", "4")
            try $0.claim(identity: "a1", "dee 4")
        },
        Damage("an account with an unreadable identity", [.malformedValue]) {
            try $0.claim(identity: "b2", "dee 4")
            try $0.link("b2", to: "dee", "4")
            try $0.set($0.user("bob"), "identities", "a1 3")
        },
        Damage("an unreadable claim", [.malformedValue]) {
            try $0.set($0.claimKey("soup"), "soup", "bob")
        },
    ]
}

extension Installation {
    /// A change of a name whose server was killed after the switch, before the former name was released.
    func isGivingUp(
        _ former: String, number formerNumber: String, of owner: String, for thing: String, number: String
    ) throws {
        try name(owner, thing, number)
        try claim(thing, for: owner, number)
        try claim(former, for: owner, formerNumber)
        try set(record(owner), "wish", number)
        try set(record(owner), "wanted", thing)
        try set(record(owner), "releasing", "\(formerNumber) \(former)")
        let unfinished = partitions.keys(of: Identifier(owner)!).unfinished
        let intent = UniqueNames.names.intent(of: Identifier(owner)!)
        try redis.command("SADD", .string(unfinished), .string(intent))
    }

    fileprivate func claim(_ address: String, _ value: String, in partition: Int) throws {
        try set(partitions.keys(partition).emails(with: EmailAddress(address)!), address, value)
    }

    /// Stores the claim where servers look it up.
    fileprivate func claim(_ address: String, _ value: String) throws {
        let place = try storedAddresses().partition(of: address)
        if !value.isEmpty { try claim(address, value, in: place) }
    }

    private func storedAddresses() throws -> LoginPartitions {
        let key = [UInt8](repeating: 7, count: LoginPartitions.keyBytes)
        try redis.command("SET", .string(partitions.space.addressKey), .string(key.hexadecimal))
        return LoginPartitions(key: key, partitions: partitions)
    }

    /// - Parameter name: Two digits.
    fileprivate static func digest(_ name: String) -> String { String(repeating: name, count: 16) }

    fileprivate func claim(identity name: String, _ value: String) throws {
        let digest = Self.digest(name)
        try set(storedAddresses().keys(ofIdentity: digest)!.identities(with: digest), digest, value)
    }

    /// Gives an account an identity besides those that it has.
    fileprivate func link(_ name: String, to owner: String, _ number: String) throws {
        _ = try storedAddresses()
        let held = try redis.command("HGET", .string(user(owner)), "identities").string.map { $0 + "\n" } ?? ""
        try set(user(owner), "identities", held + "\(Self.digest(name)) \(number) test 1 -")
    }

    fileprivate func account(_ owner: String, _ address: String, _ number: String) throws {
        try claim(address, "")
        try set(user(owner), "email", address)
        try set(user(owner), "emailClaim", number)
    }

    fileprivate func record(_ owner: String) -> String {
        UniqueNames.names.record(of: Identifier(owner)!, in: partitions.keys(of: Identifier(owner)!))
    }

    fileprivate func claimKey(_ thing: String) -> String {
        UniqueNames.names.claims(on: Identifier(thing)!, in: partitions.keys(of: Identifier(thing)!))
    }

    fileprivate func name(_ owner: String, _ thing: String, _ number: String) throws {
        for (field, value) in [("held", thing), ("claim", number)] {
            try set(record(owner), field, value)
        }
    }

    fileprivate func claim(_ thing: String, for owner: String, _ number: String) throws {
        try set(claimKey(thing), thing, owner + " " + number)
    }
}
