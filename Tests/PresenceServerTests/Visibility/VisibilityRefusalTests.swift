import Expectations
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The answer to a change of visibility that Redis accepts in part.
@Suite struct VisibilityRefusalTests {
    /// Receipts are written in a step of their own, after the rest.
    @Test(arguments: [RedisFailure.server(code: "BUSY", message: "BUSY for a moment"), .overloaded])
    func `a change that fails only for receipts is not reported as without effect`(failure: RedisFailure) throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        func answer(_ change: VisibilityChange) throws -> ServerMessage.ErrorMessage? {
            let id = ana.send(.setVisibility(change))
            var error: ServerMessage.ErrorMessage?
            try world.run(until: "ana is answered") {
                for case .error(let told) in ana.received where told.id == id { error = told }
                return error != nil
            }
            return error
        }
        world.redis.refuse = { script, _ in script == .receipts ? failure : nil }
        let both = try answer(.init(presence: .nobody, receipts: .nobody))
        expect(both?.code == .unavailable && both?.outcomeUnknown == true)
        let key = world.shards[0].logic.partitions.keys(of: UserID("ana")!).user(UserID("ana")!)
        try expect(world.redis.ask(["HGET", key, "visibility"]).get().string != nil)
        let alone = try answer(.init(receipts: .nobody))
        expect(alone?.code == .unavailable && alone?.outcomeUnknown == false)
        for (change, isUnknown) in [
            (["lastSeen": "nobody", "receipts": "nobody"], true), (["receipts": "nobody"], nil),
        ] {
            let call = SimulatedCall(
                "PATCH", "/v1/users/ana/visibility", change, token: "!backend", to: world.shards[0])
            try world.run(until: "the backend is answered") { call.status != nil }
            expect(call.status == 503 && call.json["outcomeUnknown"] as? Bool == isUnknown)
        }
    }
}
