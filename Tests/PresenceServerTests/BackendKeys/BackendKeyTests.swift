import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite("Keys of backends") struct BackendKeyTests {
    @Test func `a key is read back from its text, and nothing else is a key`() throws {
        let key = BackendKey()
        let read = try #require(BackendKey(key.text))
        expect(read.id == key.id && read.digest == key.digest && key.text.hasPrefix("presence_key_"))
        expect(BackendKey().id != key.id && BackendKey().digest != key.digest)
        for text in [
            "", "presence_key_", String(key.text.dropLast()), key.text + "0", key.text.uppercased(), " " + key.text,
            "presence_key_\(key.id)", "presence_key_\(key.id)_\(key.id)", key.text.replacing("_\(key.id)_", with: "_"),
            key.text + "_0",
        ] {
            expect(BackendKey(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        "", "Shop", "a b", "-shop", "ä", "a,b", String(repeating: "a", count: 65), "0123456789abcdef",
    ]) func `a bad name is refused`(name: String) {
        expect(BackendKey.brokenRule(by: name) != nil)
        #expect(throws: DecodingFailure.self) {
            try BackendKeyRequest(name: name, scopes: ["users:read"], lifetime: nil)
        }
    }

    @Test(arguments: ["shop", "a", "shop-2.eu_west", "0123456789abcde"]) func `a name`(name: String) {
        expect(BackendKey.brokenRule(by: name), equals: nil)
    }

    @Test func `scopes are known, at least one, and in one order`() throws {
        try expect(CallScope.list(["users:write", "users:read", "users:read"]), equals: [.usersRead, .usersWrite])
        for names in [[], ["users"], ["users:read", "x"], [""]] {
            #expect(throws: DecodingFailure.self) { try CallScope.list(names) }
        }
    }

    @Test func `each call for backends has one of the known scopes, and the console's calls have none`() throws {
        let world = try World(shards: 1) {
            $0[Console.enabled] = true
            $0[Accounts.enabled] = true
            $0[Usernames.directory] = true
            $0[History.enabled] = true
        }
        let routes = world.shards[0].logic.registry.routes
        expect(routes.count > 40)
        for route in routes {
            let place = "\(route.method) \(route.path)"
            if let scope = route.scope { expect(CallScope.all.contains(scope), "\(place)") }
            switch route.audience {
            case .backends: expect(route.scope != nil, "\(place)")
            case .users: break
            default: expect(route.scope, equals: nil, "\(place)")
            }
            if route.path.hasPrefix("/v1/console/") || route.path.hasPrefix("/v1/me") {
                expect(route.scope, equals: nil, "\(place)")
            }
        }
        expect(Set(routes.compactMap(\.scope)), equals: Set(CallScope.all))
    }
}

extension ScriptKeyTests {
    /// Runs every script of backends' keys.
    func everyScriptOfBackendKeys(on shard: SimulatedShard) throws {
        let (keys, key) = (shard.logic.partitions.keys(0), BackendKey())
        let request = try BackendKeyRequest(name: "shop", scopes: ["users:read"], lifetime: nil)
        for call in [
            .making(key, request, in: keys), .rotating("shop", to: key, 1_000, in: keys),
            ScriptCall(
                .judgeKey, in: keys, ["backendKeys": keys.backendKeys], ["id": key.id, "digest": key.digest]),
            .revoking(key.id, in: keys),
        ] { shard.logic.run(call) { _ in } }
    }
}
