import PresenceKit
import PresenceTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(1))) struct TypingModelTests {
    private let presence = FakePresence()
    private let clock = TestClock()

    @Test func `other typing users are a line of text`() async {
        let model = TypingModel(presence, conversation: "c1", clock: clock) { $0.capitalized }
        let run = Task { await model.run() }
        for (users, more, text) in [
            (["bob"], 0, "Bob is typing…"), (["bob", "cy"], 0, "Bob and Cy are typing…"),
            (["bob", "cy", "dan"], 0, "Bob, Cy and 1 more are typing…"),
            (["bob"], 4, "Bob and 4 more are typing…"), ([], 1, "Someone is typing…"), ([], 3, "3 people are typing…"),
            ([], 0, ""),
        ] {
            presence.setTyping(users, in: "c1", othersCount: more)
            await until { model.text == text && model.users == users }
        }
        run.cancel()
    }

    @Test func `typing starts with a key, and ends after a pause, with sending and with an empty field`() async {
        let model = TypingModel(presence, conversation: "c1", clock: clock)
        model.textChanged("H")
        #expect(presence.calls == [.startTyping("c1")])
        await clock.sleepers()
        clock.advance(by: .seconds(4))
        model.textChanged("He")
        await clock.sleepers()
        clock.advance(by: .seconds(4))
        #expect(
            presence.calls == [.startTyping("c1"), .startTyping("c1")], "8 s after the first key, 4 s after the last")
        clock.advance(by: .seconds(1))
        while presence.calls.count < 3 { await Task.yield() }
        #expect(presence.calls.last == .stopTyping("c1"))
        model.stop()
        #expect(presence.calls.count == 3, "it is over already")
        model.textChanged("Hel")
        model.stop()
        model.textChanged("Help")
        model.textChanged("")
        #expect(
            presence.calls.dropFirst(3) == [
                .startTyping("c1"), .stopTyping("c1"), .startTyping("c1"), .stopTyping("c1"),
            ])
    }

    @Test func `a model that is released while the user types ends the typing`() {
        var model: TypingModel? = TypingModel(presence, conversation: "c1", clock: clock)
        model?.textChanged("H")
        model = nil
        #expect(presence.calls == [.startTyping("c1"), .stopTyping("c1")])
    }
}
