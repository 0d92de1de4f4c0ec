import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// A token names another user than the connection before.
@Suite struct NextUserTests {
    private var bench = Bench()
    private static let name = ProfileChanges(displayName: .set("Eve"))
    private static let busy = StatusChange(status: .busy)

    private static func token(of user: String) -> String {
        "e30.\(Data(#"{"sub":"\#(user)"}"#.utf8).base64EncodedString().replacing("=", with: "")).c2ln"
    }

    init() {
        bench.dial(token: Self.token(of: "ana"))
        bench.welcome(user: "ana")
    }

    private var statuses: [StatusChange] {
        bench.bodies.compactMap { if case .connect(let connect) = $0 { connect.status } else { nil } }
    }
    private var updates: [ProfileChanges] {
        bench.bodies.compactMap { if case .updateProfile(let changes) = $0 { changes } else { nil } }
    }

    /// The connection is replaced, and the provider is asked for its token.
    private mutating func beginAttempt() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        bench.handle(.reconnect)
    }

    private mutating func fetched(_ token: String) {
        bench.handle(.token(bench.engine.link.attempt, .success(token)))
    }

    @Test(arguments: [true, false])
    mutating func `what is promised to the next user is made once the server confirms them`(isStatus: Bool) {
        beginAttempt()
        fetched(Self.token(of: "eve"))
        expect(bench.engine.me.id, equals: nil, "nothing of ana is shown")
        bench.end(.lost(""))
        let call = bench.call(isStatus ? .setStatus(Self.busy) : .updateProfile(Self.name, .queue))
        expect(bench.isQueued(call) && bench.writes.map(\.owner) == ["eve"])
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        expect(statuses, equals: isStatus ? [Self.busy] : [])
        bench.welcome(user: "eve")
        expect(updates == (isStatus ? [] : [Self.name]) && bench.owner == "eve")
    }

    @Test mutating func `what was promised to the next user is removed if the server confirms the former`() {
        beginAttempt()
        fetched(Self.token(of: "eve"))
        bench.end(code: 4001)
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.handle(.reconnect)
        fetched(Self.token(of: "ana"))
        bench.handle(.opened(bench.engine.link.attempt))
        bench.welcome(user: "ana")
        expect(updates.isEmpty && bench.writes.isEmpty)
    }

    @Test mutating func `calls that wait belong to the user who made them`() {
        _ = bench.call(.updateProfile(ProfileChanges(locale: .set("de")), .fail))
        let profile = bench.call(.updateProfile(Self.name, .queue))
        beginAttempt()
        let status = bench.call(.setStatus(Self.busy))
        let creation = bench.call(.createConversation(.with("bob")))
        for call in [profile, status, creation] { expect(bench.answer(to: call) == nil) }
        fetched(Self.token(of: "eve"))
        expect(bench.isQueued(profile) && bench.isQueued(status) && bench.error(of: creation) != nil)
        expect(Set(bench.writes.map(\.owner)), equals: ["ana"])
        bench.handle(.opened(bench.engine.link.attempt))
        expect(statuses.isEmpty)
        bench.welcome(user: "eve")
        expect(bench.bodies.isEmpty && bench.writes.isEmpty)
    }

    @Test mutating func `a token that was fetched to refresh the connection names its user to the next one`() {
        bench.receive(.tokenExpiring(expiresIn: 60_000))
        fetched(Self.token(of: "eve"))
        bench.end(.lost(""))
        _ = bench.call(.setStatus(Self.busy))
        bench.handle(.reconnect)
        bench.handle(.opened(bench.engine.link.attempt))
        expect(statuses.isEmpty)
    }

    @Test mutating func `a former user's token that names no user is not the next user's`() {
        bench = Bench()
        bench.dial(token: "ana's")
        bench.welcome(user: "ana")
        beginAttempt()
        fetched(Self.token(of: "eve"))
        bench.end(code: 4001)
        _ = bench.call(.setStatus(Self.busy))
        bench.handle(.reconnect)
        fetched("ana's")
        bench.handle(.opened(bench.engine.link.attempt))
        expect(statuses.isEmpty)
    }

    @Test(arguments: ["ana", "eve"])
    mutating func `a status waits for the server if the token names no user`(user: String) {
        bench.end(code: 4001)
        let call = bench.call(.setStatus(Self.busy))
        expect(bench.isQueued(call) && bench.writes.map(\.owner) == ["ana"])
        bench.handle(.reconnect)
        fetched("another")
        bench.handle(.opened(bench.engine.link.attempt))
        expect(statuses.isEmpty)
        bench.welcome(user: user)
        expect(bench.bodies, equals: user == "ana" ? [.status(Self.busy)] : [])
    }
}
