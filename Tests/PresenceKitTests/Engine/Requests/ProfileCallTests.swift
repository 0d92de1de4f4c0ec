import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Changes of the user's own profile.
@Suite struct ProfileCallTests {
    private var bench = Bench()
    private static let name = ProfileChanges(displayName: .set("Ana"))
    private static let stored = Profile(version: 3, displayName: "Ana")

    private func profile(_ call: CallID) -> ProfileUpdate<PersonProfile>? {
        if case .success(.profile(let update)) = bench.answer(to: call) { update } else { nil }
    }

    @Test mutating func `a status chosen while connect is rejected is merged over the earlier one`() {
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
        expect(connect.status?.status, equals: .invisible)
    }

    @Test mutating func `a profile is changed and returned`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .fail))
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        guard case .saved(let profile) = profile(call) else {
            Issue.record("not saved")
            return
        }
        expect(profile.displayName, equals: "Ana")
        expect(profile.user, equals: "ana")
        expect(profile.freshness, equals: .live)
    }

    @Test mutating func `if the connection breaks in flight, the outcome is unknown`() {
        bench.connect()
        let profile = bench.call(.updateProfile(Self.name, .fail))
        let contacts = bench.call(.changeVisibility(.addContacts(["bob"])))
        bench.end(.lost(""))
        for call in [profile, contacts] {
            expect(bench.error(of: call)?.code, equals: .connectionLost)
            expect(bench.error(of: call)?.outcomeUnknown, equals: true)
        }
        bench.comeBack()
        expect(bench.sent.isEmpty)
    }

    @Test mutating func `without a connection it fails at once, with the delay before a retry`() {
        bench.connect()
        bench.end(.lost("cable"))
        for call in [Call.updateProfile(Self.name, .fail), .createConversation(.with("bob"))] {
            let id = bench.call(call)
            expect(bench.error(of: id)?.code, equals: .notConnected)
            expect(bench.error(of: id)?.outcomeUnknown, equals: false)
            expect(bench.error(of: id)?.retryAfter, equals: .milliseconds(250))
        }
    }

    @Test mutating func `before the first connection it waits for that`() {
        let update = bench.call(.updateProfile(Self.name, .fail))
        let create = bench.call(.createConversation(.with("bob")))
        bench.connect()
        expect(
            bench.bodies,
            equals: [
                .updateProfile(Self.name), .createConversation(participants: ["bob"], key: CreationKey("k")),
            ])
        bench.receive(
            .profileUpdated(id: bench.lastID - 1, Self.stored),
            .conversationCreated(id: bench.lastID, .init(id: "c1", participants: ["ana", "bob"])))
        expect(profile(update) != nil)
        guard case .success(.conversation(let conversation)) = bench.answer(to: create) else {
            Issue.record("no conversation")
            return
        }
        expect(conversation, equals: Conversation(id: "c1", participants: ["ana", "bob"]))
    }

    @Test mutating func `if the first attempt fails, it fails`() {
        let call = bench.call(.createConversation(.with("bob")))
        bench.dial()
        bench.end(.lost(""))
        expect(bench.error(of: call)?.code, equals: .notConnected)
    }

    @Test mutating func `with the queue policy it is queued and sent once there is a connection`() {
        let loop = bench.open(.keptProfile)
        expect(bench.engine.nextKeptProfile(loop), equals: PresenceKit.ProfileChanges.Pending())
        bench.disconnect()
        let first = bench.call(.updateProfile(Self.name, .queue))
        expect(profile(first), equals: .queued)
        expect(bench.engine.nextKeptProfile(loop)?.waiting?.wire, equals: Self.name)
        let second = bench.call(.updateProfile(ProfileChanges(displayName: .set("Anna"), locale: .set("de")), .queue))
        expect(profile(second), equals: .queued)
        bench.connect()
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("Anna"), locale: .set("de")))])
        expect(bench.engine.nextKeptProfile(loop)?.waiting != nil)
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.engine.nextKeptProfile(loop), equals: PresenceKit.ProfileChanges.Pending())
    }

    @Test mutating func `before the first connection it waits for that, and is queued if that takes long`() {
        let first = bench.call(.updateProfile(Self.name, .queue))
        expect(bench.answer(to: first) == nil)
        bench.connect()
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        bench = Bench()
        let second = bench.call(.updateProfile(Self.name, .queue))
        bench.pass(.milliseconds(2_999))
        expect(bench.answer(to: second) == nil)
        bench.pass(.milliseconds(1))
        expect(profile(second), equals: .queued)
        expect(bench.writes.count, equals: 1)
    }

    @Test mutating func `the changes of an earlier process are sent, and no other user's`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(Self.name, .queue))
        let (writes, owner) = (bench.writes, bench.owner)
        for user in ["ana", "eve"] {
            bench = Bench()
            bench.writes = writes
            bench.handle(.recalled(owner.flatMap(UserID.init), writes))
            let loop = bench.open(.me)
            expect(bench.engine.nextMe(loop)?.user, equals: "ana")
            bench.connect(user: user)
            expect(bench.bodies.contains(.updateProfile(Self.name)), equals: user == "ana")
            expect(bench.writes.isEmpty, equals: user == "eve")
            expect(bench.engine.nextMe(loop)?.user, equals: user)
        }
    }

    @Test mutating func `changes made at launch are not taken for the former user's`() {
        bench.handle(.recalled("ana", []))
        let (read, status) = (bench.call(.get(["bob"])), bench.call(.setStatus(StatusChange(status: .busy))))
        let creation = bench.call(.createConversation(.with("bob")))
        bench.connect(user: "eve")
        for call in [read, status, creation] { expect(bench.error(of: call), equals: nil) }
        expect(bench.bodies.contains(.get(users: ["bob"])))
        expect(bench.bodies.contains(.createConversation(participants: ["bob"], key: CreationKey("k"))))
        expect(bench.cacheClears, equals: 1)
    }

    @Test mutating func `a queued change in flight is sent again after a lost connection`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .queue))
        bench.end(.lost(""))
        expect(profile(call), equals: .queued)
        bench.comeBack()
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        bench.end(.lost(""))
        bench.comeBack()
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        bench.end(.lost(""))
        bench.comeBack()
        expect(bench.bodies.isEmpty)
    }

    @Test mutating func `queued changes are sent before later ones`() {
        bench.disconnect()
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.handle(.connect)
        bench.handle(.token(bench.engine.link.attempt, .success("t")))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Later")), .fail))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome()
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("Later")))])
    }

    @Test mutating func `a change made while an older one waits is sent after it`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.comeBack()
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        let later = bench.call(.updateProfile(ProfileChanges(displayName: .set("Later")), .queue))
        expect(profile(later), equals: .queued)
        expect(bench.sent.isEmpty && bench.writes.count == 2)
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("Later")))])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.isEmpty)
        let next = bench.call(.updateProfile(Self.name, .queue))
        expect(bench.answer(to: next) == nil && bench.bodies == [.updateProfile(Self.name)])
    }

    @Test mutating func `a rejected member of a queued change is reported, the others are saved`() {
        let loop = bench.open(.keptProfile)
        bench.disconnect()
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("A"), timezone: .set("Mars")), .queue))
        bench.connect()
        bench.receive(.refusal(bench.lastID, .validationFailed, field: "timezone"))
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(displayName: .set("A")))])
        let kept = bench.engine.nextKeptProfile(loop)
        expect(kept?.refusal?.field, equals: "timezone")
        expect(kept?.waiting?.wire, equals: ProfileChanges(displayName: .set("A")))
    }

    @Test mutating func `after a temporary error a queued change is sent later`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .queue))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        expect(profile(call), equals: .queued)
        bench.pass(.milliseconds(1_999))
        expect(bench.sent.isEmpty)
        bench.pass(.milliseconds(1))
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 2_000))
        bench.pass(.seconds(2))
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
    }

    @Test mutating func `a write with an outcome unknown to the server reports that`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .fail))
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 1_000, outcomeUnknown: true))
        expect(bench.error(of: call)?.outcomeUnknown, equals: true)
        expect(bench.error(of: call)?.retryAfter, equals: .seconds(1))
    }

    @Test mutating func `the text of an error has no effect`() {
        bench.connect()
        let call = bench.call(.updateProfile(Self.name, .fail))
        bench.receive(
            .error(.init(id: bench.lastID, code: .unavailable, message: "an unknown reason", retryAfter: 1_000)))
        expect(bench.error(of: call)?.outcomeUnknown, equals: false)
    }
}
