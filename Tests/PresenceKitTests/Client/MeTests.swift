import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The signed-in user as the client shows it.
@Suite(.timeLimit(.minutes(1))) struct MeTests {
    private let dialler = ScriptedDialler()
    private let time = TestTime()
    private let client: PresenceClient

    init() { client = .scripted(dialler, time) }

    @Test func `id, status, profile and audiences are observed, whichever device changes them`() async throws {
        var loop = client.meUpdates.makeAsyncIterator()
        await expect(loop.next(), equals: Me())
        let server = await dialler.next()
        await server.welcome(user: "ana")
        let visibility = try #require(await server.message())
        expect(visibility.body, equals: .getVisibility)
        await expect(server.subscribe(.online("ana", 4, name: "Ana")), equals: ["ana"])
        server.deliver(
            .visibility(
                id: visibility.id,
                VisibilityLists(visibility: .init(presence: .contacts), contacts: ["bob"], blocks: []),
                more: true))
        server.deliver(
            .visibility(
                id: visibility.id,
                VisibilityLists(visibility: .init(presence: .contacts), contacts: ["cy"], blocks: ["eve"]),
                more: false))
        var me = await loop.next()
        while me?.visibility == nil || me?.profile == nil { me = await loop.next() }
        expect(me?.user == "ana" && me?.status?.status == .auto && me?.profile?.displayName == "Ana")
        expect(me?.visibility, equals: Me.Audiences(presence: .contacts, contactsCount: 2, blockedCount: 1))

        // A change by another device of the user.
        server.deliver(.ownVisibility(OwnVisibility(visibility: .init(presence: .nobody), contacts: 2, blocks: 1)))
        server.deliver(.ownStatus(PresenceProtocol.OwnStatus(status: .busy, text: "lunch")))
        server.deliver(.event("ana", 9, name: "Ana Silva"))
        while me?.profile?.displayName != "Ana Silva" { me = await loop.next() }
        expect(me?.visibility?.presence == .nobody && me?.status?.text == "lunch")
        await expect(client.me, equals: me)

        await client.signOut()
        await expect(loop.next(), equals: nil)
        await expect(client.me, equals: Me(problem: client.connectionProblem))
    }

    @Test func `a loop on a closed client shows that, even if nothing is known yet`() async throws {
        await client.disconnect()
        var (me, status) = (client.meUpdates.makeAsyncIterator(), client.statusUpdates.makeAsyncIterator())
        await expect(me.next()?.problem?.code, equals: .notConnected)
        let closed = await status.next()
        expect(closed?.problem?.code == .notConnected && closed?.freshness == .unknown)
        await expect(client.me.status, equals: nil)

        client.connect()
        let server = await dialler.next()
        await server.welcome()
        let open = await status.next()
        expect(open != nil && open?.problem == nil && open?.freshness == .live)
        var own = await me.next()
        while own?.status?.freshness != .live { own = await me.next() }
        expect(own?.problem, equals: nil)

        server.end(code: 4006)
        var last = await status.next()
        while last?.problem == nil { last = await status.next() }
        expect(last?.problem?.code == .disconnectedByAdministrator && last?.status == .auto)
        while own?.problem == nil { own = await me.next() }
        expect(own?.problem == last?.problem && own?.status == last)
    }

    @Test func `without a storage on disk a client has one device id, and other clients have others`()
        async throws
    {
        client.connect()
        let first = await dialler.next().welcome()?.device?.id
        expect(first != nil)
        client.reconnectNow()
        await expect(dialler.next().welcome()?.device?.id, equals: first)
        let other = PresenceClient.scripted(dialler, time)
        other.connect()
        let others = await dialler.next().welcome()?.device?.id
        expect(others != nil && others != first)
    }

    @Test func `methods that return at once keep their order, and later calls follow them`() async throws {
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        for await state in client.connectionStates where state == .live { break }
        for _ in 0..<20 {
            client.setActivity(.idle)
            client.startTyping(in: "c1")
            client.stopTyping(in: "c1")
            client.setActivity(.active)
            async let status = client.setStatus(.busy)
            var bodies: [ClientMessage.Body] = []
            var id: Int64?
            while id == nil, let message = await server.message() {
                bodies.append(message.body)
                if case .status = message.body { id = message.id }
            }
            expect(
                bodies,
                equals: [
                    .activity(.idle), .typing(conversation: "c1", typing: true),
                    .typing(conversation: "c1", typing: false), .activity(.active),
                    .status(StatusChange(status: .busy)),
                ])
            server.deliver(.ok(id: id ?? 0))
            try await expect(status, equals: .saved)
        }
    }

    @Test func `current values can be read beside the sequences`() async {
        await expect(client.connectionState, equals: .idle)
        client.connect()
        await expect(client.connectionState, equals: .connecting)
        await expect(client.pendingProfileChanges, equals: PresenceKit.ProfileChanges.Pending())
    }

    @Test func `a logger is told how the connection is, without the token`() async {
        let lines = AsyncStream.makeStream(of: String.self)
        let client = PresenceClient(
            url: URL(string: "ws://example.org/v1/ws")!, token: { "secret" }, device: Device(), configuration: .init(),
            storage: .memory(),
            logger: PresenceLogger { level, message in lines.continuation.yield("\(level) \(message)") },
            dialler: dialler, time: time)
        client.connect()
        let server = await dialler.next()
        await server.welcome()
        server.end(code: 4006)
        var heard: [String] = []
        for await line in lines.stream {
            heard.append(line)
            if line.contains("closed") { break }
        }
        expect(heard.first == "notice connecting" && heard.contains("notice connected"))
        expect(
            heard.last, equals: "notice closed: disconnected_by_administrator: an administrator ended the connection")
        expect(!heard.contains { $0.contains("secret") })
    }
}

extension PresenceClient {
    /// Why its loops get no new values.
    var connectionProblem: PresenceError? {
        get async { await runner.inspect { $0.link.closingProblem } }
    }
}
