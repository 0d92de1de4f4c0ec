import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Changes of email addresses, and their traces.
extension AccountWorld {
    static let password = "correct horse"
    static let oldAddress = "ana@example.org"
    static let newAddress = "anna@example.org"

    func signUp(_ email: String) throws -> SimulatedCall {
        try call("POST", "/v1/accounts", ["email": email, "password": Self.password], at: 1)
    }

    func signIn(_ email: String) throws -> SimulatedCall {
        try call("POST", "/v1/sessions", ["email": email, "password": Self.password], at: 1)
    }

    /// Signs up, requests a change to another address, and returns the token from its mail.
    func ask(from old: String = oldAddress, for new: String = newAddress) throws -> String {
        let ana = try signUp(old)
        expect(ana.status, equals: 201)
        let asked = try call(
            "POST", "/v1/me/email", ["password": Self.password, "email": new],
            token: ana.json["accessToken"] as? String, at: 1)
        expect(asked.status, equals: 202)
        return try mailToken("verify", to: new)
    }

    func isUnfinished() throws -> Bool {
        let partitions = world.shards[1].logic.partitions
        return try (0..<partitions.count).contains {
            try world.redis.command(["EXISTS", partitions.keys($0).unfinished]).get().int == 1
        }
    }

    /// Kills the first server after it has run this many scripts of the change.
    func dieAfter(_ count: Int) {
        let scripts: [Script] = [.wantEmail, .takeClaim, .switchEmail, .releaseClaim, .endEmail]
        var left = count
        world.redis.ran = { [world] script, _, _ in
            guard scripts.contains(script) else { return }
            left -= 1
            if left == 0 {
                world.after(0) {
                    world.shards[0].die()
                    world.replaceShard(at: 0)
                }
            }
        }
    }

    func claims() throws -> [String] {
        let keys = try world.redis.command(["KEYS", "*:email:*"]).get().array?.compactMap(\.string) ?? []
        return try keys.flatMap { try world.redis.command(["HKEYS", $0]).get().array?.compactMap(\.string) ?? [] }
    }

    /// The number of users with an address that is still to be released.
    func releasing() throws -> Int {
        let keys = try world.redis.command(["KEYS", "*:user:*"]).get().array?.compactMap(\.string) ?? []
        return try keys.count { try world.redis.command(["HEXISTS", $0, "emailReleasing"]).get().int == 1 }
    }
}
