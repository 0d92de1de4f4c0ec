import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// What the app asks for, with and without a connection.
@Suite struct CallsTests {
    private var bench = Bench()
    private static let name = ProfileChanges(displayName: .set("Ana"))
    private static let stored = Profile(version: 3, displayName: "Ana")

    private mutating func comeBack() {
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
    }

    private func isDone(_ call: CallID) -> Bool {
        if case .success(.done) = bench.answer(to: call) { true } else { false }
    }

    private func profile(_ call: CallID) -> ProfileUpdate? {
        if case .success(.profile(let update)) = bench.answer(to: call) { update } else { nil }
    }

    // MARK: Status

    @Test mutating func `a status is sent and acknowledged`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy, text: .set("lunch"), clearAfter: 60_000)))
        #expect(bench.bodies == [.status(StatusChange(status: .busy, text: .set("lunch"), clearAfter: 60_000))])
        #expect(bench.answer(to: call) == nil)
        bench.receive(.ok(id: bench.lastID))
        #expect(isDone(call))
    }

    @Test mutating func `a refused status says why`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy, text: .set("x"))))
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "text"))
        #expect(bench.error(of: call)?.code == .validationFailed)
        #expect(bench.error(of: call)?.field == "text")
    }

    @Test mutating func `a status chosen before the connection holds from its first moment`() {
        let call = bench.call(.setStatus(StatusChange(status: .invisible)))
        #expect(bench.fetches == 1)
        bench.dial()
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        #expect(connect.status == StatusChange(status: .invisible))
        bench.welcome()
        #expect(isDone(call))
        #expect(bench.sent.isEmpty)
    }

    @Test mutating func `a status chosen while connect was on its way goes after it`() {
        bench.dial()
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        #expect(bench.sent.isEmpty)
        bench.welcome()
        #expect(bench.bodies == [.status(StatusChange(status: .busy))])
        bench.receive(.ok(id: bench.lastID))
        #expect(isDone(call))
    }

    @Test mutating func `of several statuses in flight the latest is repeated, and all calls hear of it`() {
        bench.connect()
        let calls = [
            bench.call(.setStatus(StatusChange(status: .busy, text: .set("a")))),
            bench.call(.setStatus(StatusChange(status: .invisible))),
        ]
        bench.end(.lost(""))
        let third = bench.call(.setStatus(StatusChange(status: .auto)))
        bench.pass(.seconds(1))
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        #expect(connect.status == StatusChange(status: .auto, text: .set("a")))
        bench.welcome()
        for call in calls + [third] { #expect(isDone(call)) }
    }

    @Test mutating func `a status sent with a connect that was lost is sent with the next`() {
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.dial()
        bench.end(.lost(""))
        comeBack()
        #expect(isDone(call))
    }

    @Test mutating func `a status that connect is refused for is given up, and the connection is not`() {
        let call = bench.call(.setStatus(StatusChange(status: .busy, text: .set("x"))))
        bench.dial()
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "status.text"))
        #expect(bench.error(of: call)?.field == "status.text")
        #expect(bench.bodies == [.connect(.init(token: "t", device: .init()))])
        bench.welcome()
        #expect(bench.engine.link.state == .live)
    }

    @Test mutating func `a call's time ends, the status is sent all the same`() {
        bench.connect()
        bench.end(.lost(""))
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.pass(.seconds(15))
        #expect(bench.error(of: call)?.code == .timedOut)
        #expect(bench.error(of: call)?.outcomeUnknown == true)
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect")
            return
        }
        #expect(connect.status?.status == .busy)
    }

    @Test mutating func `nothing is chosen for a closed client`() {
        bench.connect()
        bench.end(code: 4004)
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        #expect(bench.error(of: call)?.code == .replaced)
        bench.handle(.connect)
        bench.disconnect()
        let second = bench.call(.setStatus(StatusChange(status: .busy)))
        #expect(bench.error(of: second)?.code == .notConnected)
    }

    // MARK: Profile

    @Test mutating func `a status chosen while connect is refused is on top of the one before`() {
        bench = Bench()
        _ = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.handle(.token(bench.engine.link.attempt, .success("t")))
        bench.handle(.opened(bench.engine.link.attempt))
        _ = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.receive(.refusal(bench.lastID, .rateLimited, retryAfter: 100))
        bench.pass(.seconds(5))
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else {
            Issue.record("no connect: \(bench.bodies)")
            return
        }
        #expect(connect.status?.status == .invisible)
    }

    @Test mutating func `a profile is changed and comes back as it is`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .fail))
        #expect(bench.bodies == [.updateProfile(Self.name)])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        guard case .saved(let profile) = profile(call) else {
            Issue.record("not saved")
            return
        }
        #expect(profile.displayName == "Ana")
        #expect(profile.user == "ana")
        #expect(profile.freshness == .live)
    }

    @Test mutating func `in flight when the connection broke, its outcome is unknown`() {
        bench.connect()
        let profile = bench.call(.updateProfile(Self.name, .fail))
        let contacts = bench.call(.changeVisibility(.addContacts(["bob"])))
        bench.end(.lost(""))
        for call in [profile, contacts] {
            #expect(bench.error(of: call)?.code == .connectionLost)
            #expect(bench.error(of: call)?.outcomeUnknown == true)
        }
        comeBack()
        #expect(bench.sent.isEmpty)
    }

    @Test mutating func `away, it fails at once, saying when to try again`() {
        bench.connect()
        bench.end(.lost("cable"))
        for call in [Call.updateProfile(Self.name, .fail), .createConversation(.with("bob"))] {
            let id = bench.call(call)
            #expect(bench.error(of: id)?.code == .notConnected)
            #expect(bench.error(of: id)?.outcomeUnknown == false)
            #expect(bench.error(of: id)?.retryAfter == .milliseconds(250))
        }
    }

    @Test mutating func `before the first connection it waits for it`() {
        let update = bench.call(.updateProfile(Self.name, .fail))
        let create = bench.call(.createConversation(.with("bob")))
        bench.connect()
        #expect(
            bench.bodies == [
                .updateProfile(Self.name), .createConversation(participants: ["bob"], key: CreationKey("k")),
            ])
        bench.receive(
            .profileUpdated(id: bench.lastID - 1, Self.stored),
            .conversationCreated(id: bench.lastID, .init(id: "c1", participants: ["ana", "bob"])))
        #expect(profile(update) != nil)
        guard case .success(.conversation(let conversation)) = bench.answer(to: create) else {
            Issue.record("no conversation")
            return
        }
        #expect(conversation == Conversation(id: "c1", participants: ["ana", "bob"]))
    }

    @Test mutating func `if the first attempt fails, it fails`() {
        let call = bench.call(.createConversation(.with("bob")))
        bench.dial()
        bench.end(.lost(""))
        #expect(bench.error(of: call)?.code == .notConnected)
    }

    @Test mutating func `if the app asks, it is kept and sent when there is a connection`() {
        let loop = bench.open(.keptProfile)
        #expect(bench.engine.nextKeptProfile(loop) == KeptProfileChanges())
        let first = bench.call(.updateProfile(Self.name, .keep))
        #expect(profile(first) == .kept)
        #expect(bench.engine.nextKeptProfile(loop)?.waiting == Self.name)
        let second = bench.call(.updateProfile(ProfileChanges(displayName: .set("Anna"), locale: .set("de")), .keep))
        #expect(profile(second) == .kept)
        bench.connect()
        #expect(bench.bodies == [.updateProfile(ProfileChanges(displayName: .set("Anna"), locale: .set("de")))])
        #expect(bench.engine.nextKeptProfile(loop)?.waiting != nil)
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        #expect(bench.engine.nextKeptProfile(loop) == KeptProfileChanges())
    }

    @Test mutating func `kept and in flight, it is sent again after a break`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .keep))
        bench.end(.lost(""))
        #expect(profile(call) == .kept)
        comeBack()
        #expect(bench.bodies == [.updateProfile(Self.name)])
        bench.end(.lost(""))
        comeBack()
        #expect(bench.bodies == [.updateProfile(Self.name)])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        bench.end(.lost(""))
        comeBack()
        #expect(bench.bodies.isEmpty)
    }

    @Test mutating func `what is kept goes before what is asked later`() {
        _ = bench.call(.updateProfile(Self.name, .keep))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Later")), .fail))
        bench.connect()
        #expect(
            bench.bodies == [.updateProfile(Self.name), .updateProfile(ProfileChanges(displayName: .set("Later")))])
    }

    @Test mutating func `a refused member of what was kept is told, the others are saved`() {
        let loop = bench.open(.keptProfile)
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("A"), timezone: .set("Mars")), .keep))
        bench.connect()
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "timezone"))
        #expect(bench.bodies == [.updateProfile(ProfileChanges(displayName: .set("A")))])
        let kept = bench.engine.nextKeptProfile(loop)
        #expect(kept?.refusal?.field == "timezone")
        #expect(kept?.waiting == ProfileChanges(displayName: .set("A")))
    }

    @Test mutating func `a server that cannot store it now gets what is kept later`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .keep))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        #expect(profile(call) == .kept)
        bench.pass(.milliseconds(1_999))
        #expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(1))
        #expect(bench.bodies == [.updateProfile(Self.name)])
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        bench.pass(.seconds(2))
        #expect(bench.bodies == [.updateProfile(Self.name)])
    }

    @Test mutating func `a write whose outcome the server does not know says so`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .fail))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 1_000, outcomeUnknown: true))
        #expect(bench.error(of: call)?.outcomeUnknown == true)
        #expect(bench.error(of: call)?.retryAfter == .seconds(1))
    }

    @Test mutating func `the words of a refusal decide nothing`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .fail))
        bench.receive(
            .error(.init(id: bench.lastID, code: .unavailable, message: "an unknown reason", retryAfter: 1_000)))
        #expect(bench.error(of: call)?.outcomeUnknown == false)
    }

    // MARK: Typing

    @Test mutating func `typing is repeated every 3 s until it is stopped`() {
        bench.connect()
        let start = bench.call(.startTyping("c1"))
        #expect(bench.bodies == [.typing(conversation: "c1", typing: true)])
        bench.receive(.ok(id: bench.lastID))
        #expect(isDone(start))
        for _ in 0..<3 {
            bench.pass(.seconds(3))
            #expect(bench.bodies == [.typing(conversation: "c1", typing: true)])
            bench.receive(.ok(id: bench.lastID))
        }
        let again = bench.call(.startTyping("c1"))
        #expect(isDone(again))
        #expect(bench.sent.isEmpty)
        let stop = bench.call(.stopTyping("c1"))
        #expect(bench.bodies == [.typing(conversation: "c1", typing: false)])
        bench.receive(.ok(id: bench.lastID))
        #expect(isDone(stop))
        bench.pass(.seconds(20))
        #expect(bench.sent.isEmpty)
    }

    @Test mutating func `typing where one may not is refused and not repeated`() {
        bench.connect()
        let call = bench.call(.startTyping("c9"))
        bench.receive(.refusal(bench.lastID, .forbidden))
        #expect(bench.error(of: call)?.code == .forbidden)
        bench.pass(.seconds(20))
        #expect(bench.sent.isEmpty)
    }

    @Test mutating func `put out of the conversation, the repetition ends`() {
        bench.connect()
        _ = bench.call(.startTyping("c1"))
        bench.receive(.ok(id: bench.lastID))
        bench.pass(.seconds(3))
        bench.receive(.refusal(bench.lastID, .forbidden))
        bench.pass(.seconds(20))
        #expect(bench.sent.isEmpty)
    }

    @Test mutating func `typing goes on over a break and does not fail`() {
        bench.connect()
        let call = bench.call(.startTyping("c1"))
        bench.end(.lost(""))
        #expect(isDone(call))
        let second = bench.call(.startTyping("c2"))
        #expect(isDone(second))
        comeBack()
        #expect(
            Set(bench.bodies) == [
                .typing(conversation: "c1", typing: true), .typing(conversation: "c2", typing: true),
            ])
        bench.end(.lost(""))
        let stop = bench.call(.stopTyping("c1"))
        #expect(isDone(stop))
        comeBack()
        #expect(bench.bodies == [.typing(conversation: "c2", typing: true)])
    }

    @Test mutating func `the background ends all typing`() {
        bench.connect()
        _ = bench.call(.startTyping("c1"))
        bench.handle(.background)
        #expect(bench.bodies == [.typing(conversation: "c1", typing: false), .activity(.background)])
        bench.pass(.seconds(20))
        #expect(bench.sent.isEmpty)
    }

    // MARK: Every call

    @Test mutating func `a cancelled call is answered once`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.handle(.cancel(call))
        #expect(bench.error(of: call)?.code == .cancelled)
        bench.handle(.cancel(call))
        bench.receive(.ok(id: bench.lastID))
        #expect(bench.answer(to: call) == nil)
    }

    @Test mutating func `a call that is cancelled when it was sent may have been done`() {
        let status = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.handle(.cancel(status))
        #expect(bench.error(of: status)?.outcomeUnknown == true, "it is sent with the connection")
        let waiting = bench.call(.updateProfile(Self.name, .fail))
        bench.handle(.cancel(waiting))
        #expect(bench.error(of: waiting)?.outcomeUnknown == false)
        bench.connect()
        let (sent, read) = (bench.call(.updateProfile(Self.name, .fail)), bench.call(.get(["b"])))
        bench.handle([.cancel(sent), .cancel(read)])
        #expect(bench.error(of: sent)?.outcomeUnknown == true)
        #expect(bench.error(of: read)?.outcomeUnknown == false)
    }

    @Test mutating func `a status that went with connect may hold though its call times out`() {
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.pass(.seconds(14))
        bench.dial()
        bench.pass(.seconds(1))
        #expect(bench.error(of: call)?.code == .timedOut)
        #expect(bench.error(of: call)?.outcomeUnknown == true)
    }

    @Test mutating func `a status that was sent and not answered may hold though the client closes`() {
        bench.connect()
        let call = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.end(.lost(""))
        let later = bench.call(.setStatus(StatusChange(status: .invisible)))
        bench.disconnect()
        #expect(bench.error(of: call)?.outcomeUnknown == true)
        #expect(bench.error(of: later)?.code == .notConnected)
        bench = Bench()
        let never = bench.call(.setStatus(StatusChange(status: .busy)))
        bench.disconnect()
        #expect(bench.error(of: never)?.outcomeUnknown == false)
    }

    @Test(arguments: [
        Call.updateProfile(Self.name, .keep), .updateProfile(Self.name, .fail), .startTyping("c1"), .stopTyping("c1"),
        .createConversation(.with("bob")), .setStatus(StatusChange(status: .busy)), .readVisibility,
    ])
    mutating func `where there can never be a connection, no call is put off`(call: Call) {
        bench = Bench(flaw: PresenceError(.invalidURL, "not the address of a WebSocket"))
        for _ in 0..<2 {
            let id = bench.call(call)
            #expect(bench.error(of: id)?.code == .invalidURL)
            #expect(bench.error(of: id)?.outcomeUnknown == false)
        }
        let kept = bench.open(.keptProfile)
        #expect(bench.engine.nextKeptProfile(kept) == KeptProfileChanges())
    }

    @Test mutating func `a call that waits for the connection can be cancelled, and is not made`() {
        let call = bench.call(.createConversation(.with("bob")))
        bench.handle(.cancel(call))
        #expect(bench.error(of: call)?.code == .cancelled)
        bench.connect()
        #expect(bench.sent.isEmpty)
    }

    @Test mutating func `no call waits for longer than it should`() {
        bench.connect()
        let calls = [
            bench.call(.setStatus(StatusChange(status: .busy))), bench.call(.updateProfile(Self.name, .fail)),
            bench.call(.createConversation(.with("b"))), bench.call(.startTyping("c")), bench.call(.get(["b"])),
        ]
        bench.pass(.milliseconds(14_999))
        for call in calls { #expect(bench.answer(to: call) == nil) }
        bench.pass(.milliseconds(1))
        for call in calls {
            #expect(bench.error(of: call)?.code == .timedOut)
            #expect(bench.error(of: call)?.outcomeUnknown == (call != calls[4]))
        }
    }

    @Test mutating func `a slow token provider makes calls time out, too`() {
        let call = bench.call(.createConversation(.with("b")))
        bench.pass(.seconds(15))
        #expect(bench.error(of: call)?.code == .timedOut)
        #expect(bench.error(of: call)?.outcomeUnknown == false)
    }
}
