import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A push contains nothing that its user may not see, or has turned off.
@Suite struct PushPrivacyTests {
    private func ask(_ request: String, by client: SimulatedClient, of talk: PushTalk) throws {
        client.sendText(request)
        try talk.world.run(for: 500)
    }

    @Test(arguments: [
        #"{"type":"block","id":801,"users":["bob"]}"#,
        #"{"type":"setVisibility","id":801,"visibility":{"presence":"nobody"}}"#,
    ])
    func `the name of who wrote is told only to those who may see it`(request: String) throws {
        let talk = try PushTalk(others: [UserID("cy")!])
        try ask(#"{"type":"updateProfile","id":800,"changes":{"displayName":"Ana A"}}"#, by: talk.ana, of: talk)
        let title = #""title":"Ana A""#
        talk.say()
        try talk.world.run(until: "the push", within: 15_000) { talk.pushes.count == 1 }
        expect(String(decoding: talk.pushes[0].body, as: UTF8.self).contains(title))
        talk.mark("read", 1)
        try ask(request, by: talk.ana, of: talk)
        talk.say()
        try talk.world.run(until: "the other push", within: 15_000) { talk.pushes.count == 2 }
        let body = String(decoding: talk.pushes[1].body, as: UTF8.self)
        expect(body.contains(#""title":"""#) && !body.contains("Ana"), "\(body)")
    }

    @Test func `who is blocked before a push is due is not told of`() throws {
        let talk = try PushTalk()
        talk.say()
        try ask(#"{"type":"block","id":801,"users":["ana"]}"#, by: talk.bob, of: talk)
        try talk.world.run(for: 120_000)
        expect(talk.pushes.isEmpty)
        try ask(#"{"type":"unblock","id":802,"users":["ana"]}"#, by: talk.bob, of: talk)
        talk.say()
        try talk.world.run(until: "the push", within: 15_000) { talk.pushes.count == 1 }
    }

    @Test func `when what was told is deleted, the next message is told`() throws {
        let talk = try PushTalk(apns: true)
        try talk.register("0a0b")
        talk.say("first")
        try talk.world.run(until: "the push", within: 15_000) { talk.handed.count == 1 }
        talk.delete(1)
        try talk.world.run(for: 30_000)
        expect(talk.handed.count, equals: 1)
        talk.say("second")
        try talk.world.run(until: "the other push", within: 15_000) { talk.handed.count == 2 }
        // A message that arrived meanwhile is pushed at once.
        talk.say("third")
        try talk.world.run(for: 15_000)
        talk.delete(2)
        try talk.world.run(until: "what is left is told", within: 15_000) { talk.handed.count == 3 }
        expect(talk.handed.map(\.text), equals: ["first", "second", "third"])
    }
}
