import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// `delivered` reveals that a device is connected, so only users who may see the user's presence receive it. Neither a
/// member's own settings nor a hidden read mark cause events for others.
@Suite struct HiddenDeliveryTests {
    private let world: World
    private let people: [String: SimulatedClient]
    private let id: ConversationID

    init(strangers: Int = 0) throws {
        let world = try World(shards: 2)
        let names = ["ana", "bob", "eve"]
        id = try world.groups(1, of: names + (0..<strangers).map { "member-\($0)" })[0]
        people = try Dictionary(
            uniqueKeysWithValues: names.enumerated().map { place, name in
                (name, try SimulatedClient(name, in: world).connect(to: world.shards[place % 2]))
            })
        self.world = world
        for name in names { people[name]!.sendText(#"{"type":"subscribe","id":90,"conversationList":true}"#) }
        try world.run(for: 500)
    }

    private func ask(_ name: String, _ request: String) throws {
        people[name]!.sendText(#"{"id":91,\#(request)}"#)
        try world.run(for: 500)
    }

    private func send(_ message: String) throws {
        try ask("eve", #""type":"send","conversation":"\#(id)","message":{"id":"\#(message)","text":"x"}"#)
    }

    /// The conversation events of a user, in order.
    private func events(_ name: String) -> [[String: Any]] {
        people[name]!.texts.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            .filter { $0["type"] as? String == "conversation" }.compactMap { $0["conversation"] as? [String: Any] }
    }

    /// The `delivered` of ana in a user's latest event.
    private func delivered(to name: String) -> Int64? {
        let members = events(name).last?["members"] as? [[String: Any]]
        return (members?.first { $0["user"] as? String == "ana" }?["delivered"] as? NSNumber)?.int64Value
    }

    private func mark(_ what: String) throws {
        let before = people.mapValues { $0.texts.count }
        try ask("ana", #""type":"mark","conversation":"\#(id)",\#(what)"#)
        expect(people["ana"]!.texts[before["ana"]!...].contains { $0.contains(#""type":"ok""#) })
    }

    private func expectNews(_ expected: [String: Int], when change: () throws -> Void) throws {
        let before = people.keys.reduce(into: [:]) { $0[$1] = events($1).count }
        try change()
        let news = people.keys.reduce(into: [:]) { $0[$1] = events($1).count - before[$1]! }
        expect(news, equals: expected)
    }

    @Test(arguments: [
        #""type":"status","status":"invisible""#, #""type":"setVisibility","visibility":{"presence":"nobody"}"#,
        #""type":"setVisibility","visibility":{"presence":"contacts"}"#,
    ])
    func `no other user sees what is delivered to a hidden user`(hide: String) throws {
        try send("m1")
        try mark(#""delivered":1"#)
        expect(delivered(to: "eve") == 1 && delivered(to: "bob") == 1)
        try ask("ana", hide)
        try send("m2")
        try expectNews(["ana": 1, "bob": 0, "eve": 0]) { try mark(#""delivered":2"#) }
        expect(delivered(to: "ana"), equals: 2)
        try send("m3")
        expect(delivered(to: "eve") == 1 && delivered(to: "bob") == 1)
        // A visible read mark counts as delivered.
        try mark(#""read":3"#)
        expect(delivered(to: "eve"), equals: 3)
        // When she is visible again, the true state is shown.
        try send("m4")
        try mark(#""delivered":4"#)
        expect(delivered(to: "eve"), equals: 3)
        try ask("ana", #""type":"setVisibility","visibility":{"presence":"everyone"}"#)
        try ask("ana", #""type":"status","status":"auto""#)
        try send("m5")
        try mark(#""delivered":5"#)
        expect(delivered(to: "eve") == 5 && delivered(to: "bob") == 5)
    }

    @Test(arguments: [
        [#""type":"block","users":["eve"]"#],
        [#""type":"addContacts","users":["bob"]"#, #""type":"setVisibility","visibility":{"presence":"contacts"}"#],
    ])
    func `only users who may see a user see what is delivered to them`(hide: [String]) throws {
        for request in hide { try ask("ana", request) }
        try send("m1")
        try expectNews(["ana": 1, "bob": 1, "eve": 0]) { try mark(#""delivered":1"#) }
        try send("m2")
        expect(delivered(to: "eve") == 0 && delivered(to: "bob") == 1)
        try ask("ana", #""type":"unblock","users":["eve"]"#)
        try ask("ana", #""type":"addContacts","users":["eve"]"#)
        try mark(#""delivered":2"#)
        expect(delivered(to: "eve") == 2 && delivered(to: "bob") == 2)
    }

    @Test(arguments: [(19, 1), (20, 0)])
    func `with more than 20 excluded members, delivery is hidden from all others`(strangers: Int, shown: Int) throws {
        let group = try HiddenDeliveryTests(strangers: strangers)
        try group.ask("ana", #""type":"addContacts","users":["bob"]"#)
        try group.ask("ana", #""type":"setVisibility","visibility":{"presence":"contacts"}"#)
        try group.send("m1")
        try group.expectNews(["ana": 1, "bob": shown, "eve": 0]) { try group.mark(#""delivered":1"#) }
        expect(group.delivered(to: "bob"), equals: Int64(shown))
    }

    @Test func `a member's own settings are not sent to others`() throws {
        try send("m1")
        try mark(#""delivered":1"#)
        try ask("ana", #""type":"setVisibility","visibility":{"receipts":"nobody"}"#)
        try expectNews(["ana": 1, "bob": 0, "eve": 0]) { try mark(#""read":1"#) }
        try expectNews(["ana": 1, "bob": 0, "eve": 0]) {
            try ask("ana", #""type":"conversationSettings","conversation":"\#(id)","muted":true"#)
        }
    }
}
