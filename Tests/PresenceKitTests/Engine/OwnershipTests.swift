import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Queued writes belong to one user, and are never sent on another user's connection.
@Suite struct OwnershipTests {
    private var bench = Bench()
    private static let name = ProfileChanges(displayName: .set("Ana"))

    /// A token that names its user, with an invalid signature.
    private static func token(of user: String) -> String {
        let claims = Data(#"{"sub":"\#(user)","name":"ÿ>?"}"#.utf8).base64EncodedString()
        let payload = claims.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return "e30.\(payload).c2ln"
    }

    /// A launch that finds the data of the previous one and cannot connect.
    private mutating func launch(token: String?) {
        let (owner, writes) = (bench.owner, bench.writes)
        bench = Bench()
        (bench.owner, bench.writes) = (owner, writes)
        bench.handle([.recalled(owner.flatMap(UserID.init), writes), .connect])
        let noToken = PresenceError(.tokenUnavailable, "")
        bench.handle(.token(bench.engine.link.attempt, token.map { .success($0) } ?? .failure(noToken)))
        if token != nil { bench.end(.lost("no network")) }
    }

    private mutating func reach(as user: String) {
        bench.handle(.reconnect)
        if case .fetchingToken = bench.engine.link.phase {
            bench.handle(.token(bench.engine.link.attempt, .success(Self.token(of: user))))
        }
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome(user: user)
    }

    private var updates: [ProfileChanges] {
        bench.bodies.compactMap { if case .updateProfile(let changes) = $0 { changes } else { nil } }
    }

    @Test func `a token names its user`() {
        expect(TokenSubject.user(of: Self.token(of: "ana")), equals: "ana")
        for token in ["", "t", "a.b.c", "e30.e30.e30", "e30.eyJzdWIiOjF9.e30", Self.token(of: "no id")] {
            expect(TokenSubject.user(of: token), equals: nil)
        }
    }

    @Test mutating func `after a sign-out nothing is queued, until the app connects again or changes the user`() {
        bench.connect()
        bench.signOut()
        for call in [
            Call.updateProfile(Self.name, .queue), .updateProfile(Self.name, .fail),
            .setStatus(StatusChange(status: .busy)), .createConversation(.with("bob")), .readVisibility,
        ] {
            let id = bench.call(call)
            expect(bench.error(of: id)?.code, equals: .signedOut)
        }
        bench.handle(.typing("c1", true))
        expect(bench.writes.isEmpty)
        bench.dial()
        bench.welcome(user: "eve")
        expect(bench.sent.isEmpty)
        bench.signOut()
        bench.switchUser()
        let call = bench.call(.updateProfile(Self.name, .fail))
        expect(bench.answer(to: call) == nil)
    }

    @Test(arguments: ["ana", "eve"]) mutating func `a first launch without a network belongs to its token's user`(
        user: String
    ) {
        launch(token: Self.token(of: "ana"))
        let call = bench.call(.updateProfile(Self.name, .queue))
        expect(bench.isQueued(call))
        expect(bench.writes.map(\.owner), equals: ["ana"])
        launch(token: Self.token(of: user))
        reach(as: user)
        expect(updates, equals: user == "ana" ? [Self.name] : [])
        expect(bench.writes.isEmpty, equals: user == "eve")
        expect(bench.owner, equals: user)
    }

    @Test mutating func `a change of an unknown user is only sent by the same process`() {
        launch(token: nil)
        _ = bench.call(.updateProfile(Self.name, .queue))
        expect(bench.writes.map(\.owner), equals: [nil])
        var other = self
        other.launch(token: Self.token(of: "eve"))
        expect(other.bench.writes.isEmpty)
        other.reach(as: "eve")
        expect(other.updates.isEmpty)
        // The process itself continues, and the storage gets its owner.
        reach(as: "ana")
        expect(updates, equals: [Self.name])
        expect(bench.writes.map(\.owner) == ["ana"] && bench.writes.map(\.profileChanges?.changes) == [Self.name])
        bench.receive(.profileUpdated(id: bench.lastID, Profile(version: 1, displayName: "Ana")))
        expect(bench.writes.isEmpty)
    }

    @Test(arguments: [true, false]) mutating func `a user who finds another's storage keeps their own changes`(
        hasToken: Bool
    ) {
        launch(token: Self.token(of: "ana"))
        _ = bench.call(.updateProfile(Self.name, .queue))
        reach(as: "ana")
        bench.end(.lost(""))
        expect(bench.owner == "ana" && bench.writes.count == 1)

        launch(token: hasToken ? Self.token(of: "eve") : nil)
        let own = ProfileChanges(locale: .set("de"))
        let call = bench.call(.updateProfile(own, .queue))
        expect(bench.isQueued(call))
        reach(as: "eve")
        // Without a token the change was promised to the storage's user, whom the app showed.
        expect(updates, equals: hasToken ? [own] : [], "hers, and nothing of ana's")
        expect(bench.writes.map(\.owner) == (hasToken ? ["eve"] : []) && bench.owner == "eve")
        bench.receive(.profileUpdated(id: bench.lastID, Profile(version: 1)))
        expect(bench.writes.isEmpty)
    }

    @Test(arguments: ["ana", "eve"], [true, false])
    mutating func `a promised change stays in the storage until the server has confirmed another user`(
        user: String, dies: Bool
    ) {
        bench.owner = "ana"
        launch(token: nil)
        for call in [Call.updateProfile(Self.name, .queue), .setStatus(StatusChange(status: .busy))] {
            let id = bench.call(call)
            expect(bench.isQueued(id))
        }
        bench.handle(.reconnect)
        bench.handle(.token(bench.engine.link.attempt, .success(Self.token(of: "eve"))))
        expect(bench.engine.me.id == nil && bench.engine.me.keptChanges.waiting == nil)
        if dies { launch(token: Self.token(of: user)) } else { bench.end(code: 4001) }
        bench.handle(.reconnect)
        if case .fetchingToken = bench.engine.link.phase {
            bench.handle(.token(bench.engine.link.attempt, .success(Self.token(of: user))))
        }
        bench.handle(.opened(bench.engine.link.attempt))
        guard case .connect(let connect) = bench.bodies.first else { return expect(Bool(false), "no connect") }
        expect(connect.status?.status, equals: user == "ana" ? .busy : nil)
        bench.welcome(user: user)
        expect(updates, equals: user == "ana" ? [Self.name] : [])
        bench.receive(.profileUpdated(id: bench.lastID, Profile(version: 1, displayName: "Ana")))
        expect(bench.writes.isEmpty && bench.owner == user)
    }

    // MARK: Late replies of the storage

    @Test mutating func `the storage's data of the former user is ignored after a sign-out`() {
        let loop = bench.open(.me)
        bench.signOut()
        bench.handle(.recalled("ana", [QueuedWrite(Self.name, id: "1", owner: "ana", at: bench.now.wall)]))
        expect(bench.engine.me.id == nil && bench.engine.me.keptChanges.waiting == nil)
        bench.close(loop)
        bench = Bench()
        bench.switchUser()
        bench.handle(.recalled("ana", []))
        expect(bench.engine.me.id, equals: nil)
    }

    @Test mutating func `cached users of the former user are not shown to the next`() {
        bench.connect()
        bench.end(.lost(""))
        let loop = bench.open(.user("bob"))
        expect(bench.cacheReads, equals: [["bob"]])
        bench.switchUser()
        let bob = CachedPerson(
            user: "bob", asOf: bench.now.wall, presence: Presence(version: 1, status: .online), profile: .none)
        bench.handle(.cached([bob]))
        expect(bench.engine.nextPerson(loop)?.isFound != true)
        bench.end(.lost(""))
        let call = bench.call(.get(["cy"]))
        bench.handle(.cached([bob]))
        expect(bench.people(of: call)?.missing, equals: ["cy"], "later readings are answered in their turn")
    }

    // MARK: Values that the server never accepts

    @Test mutating func `an invalid value is neither sent nor stored, online and offline`() {
        let flawed: [(ProfileChanges, String)] = [
            (ProfileChanges(displayName: .set("  ")), "displayName"),
            (ProfileChanges(displayName: .set(String(repeating: "x", count: 51))), "displayName"),
            (ProfileChanges(displayName: .remove), "displayName"),
            (
                ProfileChanges(photoURL: .set("data:image/png;base64," + String(repeating: "A", count: 300_000))),
                "photoURL"
            ),
            (ProfileChanges(timezone: .set("no zone!")), "timezone"), (ProfileChanges(locale: .set("?")), "locale"),
        ]
        bench.connect()
        for _ in 0..<2 {
            for (changes, field) in flawed {
                let call = bench.call(.updateProfile(changes, .queue))
                expect(bench.error(of: call)?.code == .validationFailed && bench.error(of: call)?.field == field)
                expect(bench.sent.isEmpty && bench.writes.isEmpty)
            }
            let status = bench.call(
                .setStatus(StatusChange(status: .busy, text: .set(String(repeating: "x", count: 141)))))
            expect(bench.error(of: status)?.field, equals: "text")
            bench.end(.lost(""))
        }
    }

    @Test mutating func `a request longer than the server accepts is rejected locally`() {
        bench.connect(limits: ConnectionLimits(maxMessageBytes: 4_096))
        let users = (0..<1_000).map { UserID("user-\($0)")! }
        let call = bench.call(.changeVisibility(.block(users)))
        expect(bench.error(of: call)?.code == .tooMany && bench.sent.isEmpty)
        let next = bench.call(.changeVisibility(.block(["bob"])))
        expect(bench.bodies, equals: [.block(["bob"])])
        bench.receive(.ok(id: bench.lastID))
        expect(bench.isDone(next))
    }

    @Test mutating func `a stored change that ends the connection as too long is not sent with the next one`() {
        let loop = bench.open(.keptProfile)
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.comeBack()
        expect(updates, equals: [Self.name])
        bench.end(code: 1009)
        expect(bench.writes.isEmpty)
        let kept = bench.engine.nextKeptProfile(loop)
        expect(kept?.waiting == nil && kept?.refusal?.code == .tooMany)
        bench.dial()
        bench.welcome()
        expect(updates.isEmpty)
        let call = bench.call(.updateProfile(Self.name, .queue))
        bench.end(code: 1009)
        expect(bench.error(of: call)?.code == .tooMany && bench.writes.isEmpty)
    }

    // MARK: The user's own profile

    @Test mutating func `a saved profile is shown before the pending change disappears`() {
        bench.connect()
        let loop = bench.open(.me)
        bench.receive(
            .subscribed(id: bench.lastID, users: [.online("ana", 4, name: "Old")], conversations: [], more: false))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.receive(.profileUpdated(id: bench.lastID, Profile(version: 5, displayName: "Ana")))
        expect(bench.engine.nextMe(loop)?.profile?.displayName, equals: "Ana")
        bench.receive(.event("ana", 7, name: "Newest"))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.receive(.profileUpdated(id: bench.lastID, Profile(version: 6, displayName: "Ana")))
        expect(bench.engine.nextMe(loop)?.profile?.displayName, equals: "Newest")
    }

    @Test(arguments: [("ana", false), ("ana", true), ("eve", false), ("eve", true)])
    mutating func `a sign-in keeps the storage's data for its owner only, whichever is known first`(
        user: String, signsInFirst: Bool
    ) {
        let write = QueuedWrite(Self.name, id: "1", owner: "ana", at: bench.now.wall)
        (bench.owner, bench.writes) = ("ana", [write])
        let inputs: [Input] = [.recalled("ana", [write]), .signedIn(UserID(user))]
        for input in signsInFirst ? inputs.reversed() : inputs { bench.handle(input) }
        let isOwner = user == "ana"
        expect(bench.writes.map(\.id), equals: isOwner ? ["1"] : [])
        expect(bench.engine.me.id == (isOwner ? "ana" : nil) && bench.engine.me.writer?.string == user)
    }
}
