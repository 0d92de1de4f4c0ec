import Expectations
import PresenceKit
import Testing

@testable import PresenceTesting

@MainActor @Suite(.timeLimit(.minutes(1))) struct TypingModelTests {
    private let stage = Stage()
    private let clock = TestClock()
    private var server: InMemoryServer { stage.server }

    init() { server.add(conversation: "c1", of: ["ana", "bob", "cy", "dan"], name: "Trip") }

    private var typings: [Bool?] { stage.requested("typing", "typing") }

    @Test func `other typing users are a line of text`() async {
        let model = TypingModel(stage.client, conversation: "c1", clock: clock) { $0.capitalized }
        let run = Task { await model.run() }
        await server.received("subscribe")
        for (users, more, text) in [
            (["bob"], 0, "Bob is typing…"), (["bob", "cy"], 0, "Bob and Cy are typing…"),
            (["bob", "cy", "dan"], 0, "Bob, Cy and 1 more are typing…"),
            (["bob"], 4, "Bob and 4 more are typing…"), ([], 1, "Someone is typing…"), ([], 3, "3 people are typing…"),
            ([], 0, ""),
        ] {
            server.change { state in
                // More users than a conversation of this server has.
                state.talks["c1"]!.typingVersion += 1
                let version = state.talks["c1"]!.typingVersion
                for number in state.peers.keys {
                    state.peers[number]!.typing["c1"] = version
                    let event: InMemoryServer.Object = [
                        "type": "typing", "conversation": "c1", "version": Int(version), "users": users, "more": more,
                    ]
                    state.send(event, to: state.peers[number]!)
                }
            }
            await until { model.text == text && model.users == users }
        }
        run.cancel()
    }

    @Test func `typing starts with a key, and ends after a pause, with sending and with an empty field`() async {
        await stage.connected()
        let model = TypingModel(stage.client, conversation: "c1", clock: clock)
        model.textChanged("H")
        await server.received("typing")
        await clock.sleepers()
        clock.advance(by: .seconds(4))
        model.textChanged("He")
        await clock.sleepers()
        clock.advance(by: .seconds(4))
        expect(typings, equals: [true], "8 s after the first key, 4 s after the last")
        clock.advance(by: .seconds(1))
        await server.received("typing", count: 2)
        expect(typings, equals: [true, false])
        model.stop()
        model.textChanged("Hel")
        await server.received("typing", count: 3)
        model.stop()
        await server.received("typing", count: 4)
        model.textChanged("Help")
        await server.received("typing", count: 5)
        model.textChanged("")
        await server.received("typing", count: 6)
        expect(typings, equals: [true, false, true, false, true, false], "an end that is over is not repeated")
    }

    @Test func `a model that is released while the user types ends the typing`() async {
        await stage.connected()
        var model: TypingModel? = TypingModel(stage.client, conversation: "c1", clock: clock)
        model?.textChanged("H")
        await server.received("typing")
        model = nil
        await server.received("typing", count: 2)
        expect(typings, equals: [true, false])
    }

    @Test func `typing ends with its time, also if the client is gone`() async {
        let bob = server.client(as: "bob")
        var loop = stage.client.typing(in: "c1").makeAsyncIterator()
        var typing = await loop.next()
        while typing?.freshness.isLive != true { typing = await loop.next() }
        server.setTyping(["bob"], in: "c1")
        while typing?.users != ["bob"] { typing = await loop.next() }
        server.clock.advance(by: .seconds(6))
        while typing?.users != [] { typing = await loop.next() }
        bob.startTyping(in: "c1")
        while typing?.users != ["bob"] { typing = await loop.next() }
        await bob.disconnect()
        while typing?.users != [] { typing = await loop.next() }
    }
}
