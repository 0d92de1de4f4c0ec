import Expectations
import Foundation
import PresenceKit
import Testing

@testable import presence_watch

struct LineTests {
    private let utc = TimeZone(identifier: "UTC")!

    private func plain(_ person: Person) -> String { PlainLine(person, now: Scene.now, timeZone: utc).text }

    @Test func `a change of a user as a plain line`() {
        expect(
            Scene.people().map(plain),
            equals: [
                "12:00:00  Bob (bob)  offline, last seen 2 h ago",
                "12:00:00  Ana Silva (ana)  online for 3 min  desktop, phone  “Working from home”  took 4 ms",
                "12:00:00  Cy 🎧 (cy)  busy for 40 s  web  “In a meeting”",
                "12:00:00  山田太郎 (taro)  away for 1 h  tablet",
                "12:00:00  zed  offline, never seen",
            ])
    }

    @Test func `a rejection and typing as plain lines, without control sequences`() {
        let error = PresenceError(.tooMany, "no\u{1B}[2Jroom")
        let refused = Scene.person("bob", nil, .offline, since: nil, freshness: .unknown, problem: error)
        expect(plain(refused), equals: "12:00:00  bob  refused: no\u{FFFD}[2Jroom")

        let typing = Typing(conversation: "c1", users: ["ana", "bob"], othersCount: 3, freshness: .live)
        expect(
            PlainLine(typing, now: Scene.now, timeZone: utc).text, equals: "12:00:00  c1  typing: ana, bob and 3 more")
        let nobody = Typing(conversation: "c1", freshness: .live)
        expect(PlainLine(nobody, now: Scene.now, timeZone: utc).text, equals: "12:00:00  c1  no one is typing")
    }

    @Test func `a user as JSON`() {
        expect(
            JSONLine(PersonRecord(Scene.people()[1])).text,
            equals: #"{"at":1763726387996,"devices":["desktop","phone"],"displayName":"Ana Silva","found":true,"#
                + #""latency":4,"live":true,"since":1763726215000,"status":"online","text":"Working from home","#
                + #""type":"person","user":"ana"}"#)
        expect(
            JSONLine(PersonRecord(Scene.person("zed", nil, .offline, since: nil))).text,
            equals: #"{"devices":[],"found":false,"live":true,"status":"offline","type":"person","user":"zed"}"#)
        expect(
            JSONLine(PersonRecord(Scene.person("bob", nil, freshness: .stale(since: Scene.ago(2))))).text
                .contains(#""live":false,"since":1763726340000,"staleSince":1763726398000"#))
    }

    @Test func `typing and the connection as JSON`() {
        let typing = Typing(
            conversation: "c1", users: ["ana"], freshness: .live, arrival: Scene.arrival(1, took: 2))
        expect(
            JSONLine(TypingRecord(typing)).text,
            equals:
                #"{"at":1763726398998,"conversation":"c1","latency":2,"live":true,"more":0,"type":"typing","users":["ana"]}"#
        )
        expect(JSONLine(ConnectionRecord(.live)).text, equals: #"{"state":"live","type":"connection"}"#)
        expect(
            JSONLine(ConnectionRecord(.stale(since: Scene.now))).text,
            equals: #"{"since":1763726400000,"state":"stale","type":"connection"}"#)
        let lost = ConnectionState.reconnecting(
            in: .milliseconds(1_500), because: PresenceError(.connectionLost, "refused"))
        expect(
            JSONLine(ConnectionRecord(lost)).text,
            equals: #"{"reason":"connection_lost: refused","retryIn":1500,"state":"reconnecting","type":"connection"}"#)
    }

    @Test func `JSON is one line, safe for a terminal, with the same meaning`() throws {
        let nasty = "a\n\u{1B}[2J\u{7F}\u{85}\u{9B}2J\u{202E}\u{2028}\u{E0067}é🎧\"\\"
        let line = JSONLine(PersonRecord(Scene.person("ana", nasty))).text
        expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control })
        expect(!line.contains("\u{202E}"))
        let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        expect(object["displayName"] as? String, equals: nasty)
    }

    @Test func `a lost or restored connection is no change of a user`() {
        let live = PersonRecord(Scene.person("ana", "Ana", arrival: Scene.arrival(1, took: 1)))
        let stale = PersonRecord(Scene.person("ana", "Ana", freshness: .stale(since: Scene.now)))
        expect(live != stale)
        expect(live.hasSameValues(as: stale))
        expect(!live.hasSameValues(as: PersonRecord(Scene.person("ana", "Ana", .busy))))
    }
}
