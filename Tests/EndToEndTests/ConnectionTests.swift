import EventLoops
import Expectations
import Foundation
import PresenceKit
import Testing

/// The life of a client's connection, by the library's calls against a server.
@Suite(.sharedServer(["tokenExpiringNotice": "8s"]))
struct ConnectionTests {
    let server = SharedServer.current!

    @Test func `in the background changes are held back, in front the newest is shown`() async throws {
        let sleeper = server.client("back-sleeper")
        let witness = server.client("back-witness")
        let seenBySleeper = Sightings(sleeper.updates(of: "back"))
        let seenByWitness = Sightings(witness.updates(of: "back"))
        let sleep = Sightings(witness.presence(of: "back-sleeper"))
        let person = server.client("back")
        try await person.updateProfile(displayName: "0")
        for sightings in [seenBySleeper, seenByWitness] {
            try await sightings.until("online, named 0") { $0.isOnline && $0.displayName == "0" }
        }
        sleeper.enterBackground()
        try await sleep.until("away") { $0.status == .away }
        for number in 1...3 {
            try await person.updateProfile(displayName: "\(number)")
            try await person.setStatus(.busy, text: "\(number)")
            try await seenByWitness.until("change \(number)") {
                $0.displayName == "\(number)" && $0.presence.text == "\(number)"
            }
        }
        sleeper.enterForeground()
        try await sleep.until("online again") { $0.status == .online }
        try await seenBySleeper.until("the newest of both") { $0.displayName == "3" && $0.presence.text == "3" }
        let names = await seenBySleeper.all.compactMap(\.displayName)
        expect(!names.contains("1") && !names.contains("2"))
    }

    @Test func `a changed network gives a new connection without visible effect`() async throws {
        let presence = Sightings(server.client("move-watcher").presence(of: "move"))
        let mover = server.client("move", device: Device(id: "phone", kind: .phone))
        let connection = Sightings(mover.connectionStates)
        try await expect(connection.next("a state"), equals: .idle)
        let friend = Sightings(mover.presence(of: "move-watcher"))
        try await connection.until("live") { $0 == .live }
        try await friend.until("a live friend") { $0.isOnline && $0.freshness.isLive }
        let before = try await presence.until("online", \.isOnline)
        mover.reconnectNow()
        try await connection.next("another connection") { $0 == .connecting }
        try await connection.until("live again") { $0 == .live }
        try await friend.next("a stale friend") { $0.freshness.staleSince != nil }
        try await friend.until("a live friend") { $0.isOnline && $0.freshness.isLive }
        try await mover.setStatus(.busy)
        try await presence.until("what came after") { $0.status == .busy }
        await expect(presence.all.allSatisfy { $0.version == 0 || $0.isOnline })
        await expect(presence.all.count { $0.version == before.version }, equals: 1)
    }

    @Test func `a user who signs out is offline, and their sequences end`() async throws {
        let presence = Sightings(server.client("out-watcher").presence(of: "out"))
        let person = server.client("out")
        let connection = Sightings(person.connectionStates)
        let friend = Sightings(person.presence(of: "out-watcher"))
        try await friend.until("a live friend") { $0.isOnline && $0.freshness.isLive }
        try await presence.until("online", \.isOnline)
        await person.signOut()
        try await presence.until("offline") { !$0.isOnline }
        try await friend.untilOver()
        try await connection.until("closed by the app") { $0 == .closed(nil) }
        await expect(person.me.user, equals: nil)
    }

    @Test func `another user continues with the same sequences`() async throws {
        let roster = Sightings(server.client("switch-watcher").roster(of: ["switch-1", "switch-2"]))
        try await roster.until("an answer", \.isComplete)
        let client = server.client("switch-1")
        let friend = Sightings(client.presence(of: "switch-watcher"))
        try await friend.until("a live friend") { $0.isOnline && $0.freshness.isLive }
        try await roster.until("the first one") { $0.online.map(\.user) == ["switch-1"] }
        await client.switchUser { try await server.token("switch-2") }
        try await roster.until("the second one") { $0.online.map(\.user) == ["switch-2"] }
        try await friend.next("a stale friend") { !$0.freshness.isLive }
        try await friend.until("a live friend") { $0.isOnline && $0.freshness.isLive }
        await expect(client.me.user, equals: "switch-2")
    }

    @Test func `a token is renewed before it expires, on the same connection`() async throws {
        let server = server
        let lasting = try await server.token("renew", expires: "1h")
        let fetches = Locked(0)
        let client = PresenceClient(
            url: server.url,
            token: {
                let isFirst = fetches.withLock { count in
                    count += 1
                    return count == 1
                }
                return isFirst ? try await server.token("renew", expires: "16s") : lasting
            })
        let connection = Sightings(client.connectionStates)
        client.connect()
        try await connection.until("live") { $0 == .live }
        // Another client, whose token is as short, cannot renew it, and is disconnected at its end.
        let short = try await server.token("renew-not", expires: "16s")
        let control = PresenceClient(url: server.url, token: short)
        let controlled = Sightings(control.connectionStates)
        control.connect()
        try await controlled.until("live") { $0 == .live }
        let end = try await controlled.next("put out") { !$0.isConnected }
        switch end {
        case .reconnecting(_, let error), .closed(.some(let error)):
            expect(error.code, equals: .unauthorized, "\(error)")
        // States that pass quickly are skipped.
        case .connecting: break
        default: Issue.record("\(end)")
        }
        try await controlled.until("closed: no other token") { if case .closed = $0 { true } else { false } }
        // More than once if the machine was so slow that the client repeated the request.
        expect(fetches.withLock(\.self) >= 2)
        await expect(connection.all.last, equals: .live)
        await expect(connection.all.count { $0 == .live }, equals: 1)
        try await expect(client.person("nobody"), equals: nil)
    }

    @Test func `the younger connection of a device stays, without visible effect`() async throws {
        let presence = Sightings(server.client("device-watcher").presence(of: "device"))
        let older = server.client("device", device: Device(id: "d1", kind: .phone))
        let connection = Sightings(older.connectionStates)
        older.connect()
        let before = try await presence.until("online", \.isOnline)
        let younger = server.client("device", device: Device(id: "d1", kind: .phone))
        younger.connect()
        let end = try await connection.until("closed") { if case .closed = $0 { true } else { false } }
        guard case .closed(let error) = end else { return }
        expect(error?.code, equals: .replaced)
        try await younger.setStatus(.auto, text: "still here")
        let after = try await presence.until("what came after") { $0.text == "still here" }
        expect(after.since, equals: before.since)
        await expect(presence.all.allSatisfy { $0.version == 0 || $0.isOnline })
    }

    @Test func `an administrator's word ends the connection for good`() async throws {
        let presence = Sightings(server.client("ban-watcher").presence(of: "ban"))
        let client = server.client("ban")
        let connection = Sightings(client.connectionStates)
        client.connect()
        try await presence.until("online", \.isOnline)
        let user = try await server.token("ban")
        try await expect(server.http("POST", "/v1/users/ban/disconnect", token: user).status, equals: 403)
        let backend = try await server.token("office", role: "backend")
        let answer = try await server.http("POST", "/v1/users/ban/disconnect", token: backend)
        expect((200..<300).contains(answer.status), "\(answer)")
        let end = try await connection.until("closed") { if case .closed = $0 { true } else { false } }
        guard case .closed(let error) = end else { return }
        expect(error?.code, equals: .disconnectedByAdministrator)
        try await presence.until("offline") { !$0.isOnline }
    }

    @Test func `a bad token closes the client with the reason`() async throws {
        let client = PresenceClient(url: server.url, token: "not.a.token")
        let connection = Sightings(client.connectionStates)
        client.connect()
        let end = try await connection.until("closed") { if case .closed = $0 { true } else { false } }
        guard case .closed(let error) = end else { return }
        expect(error?.code, equals: .unauthorized)
        let refused = await #expect(throws: PresenceError.self) { try await client.person("anybody") }
        expect(refused?.code, equals: .unauthorized)
    }
}
