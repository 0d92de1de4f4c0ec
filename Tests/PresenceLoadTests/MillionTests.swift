import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import presence_load

@Suite struct MillionTests {
    @Test(arguments: [(10, 3), (1_000_000, 5), (7, 6), (19, 0)])
    func `the watchers of a person are those who have them among the watched`(total: Int, watching: Int) {
        let ring = Ring(total: total, watching: watching)
        for person in [0, 1, total / 2, total - 1] {
            let watched = ring.watched(by: person)
            expect(Set(watched).count, equals: watching)
            expect(!watched.contains(person))
            for (place, other) in watched.enumerated() {
                expect(ring.watchers(of: other).contains(person))
                expect(ring.place(of: other, for: person), equals: place)
            }
            expect(ring.watchers(of: person).allSatisfy { ring.watched(by: $0).contains(person) })
            expect(ring.place(of: person, for: person), equals: nil)
        }
    }

    @Test func `a number is found in the ids of its kind only`() {
        let users = NumberedUsers(prefix: "m-")
        expect(users.number(of: users.user(1_234_567)), equals: 1_234_567)
        for id in ["m-", "m-1x", "n-1", "m", "m-a-1"] { expect(users.number(of: UserID(id)!), equals: nil) }
    }

    @Test func `a marker is found in an event's bytes and nowhere else`() {
        let marker = Marker(user: 999_999, made: Instant(nanoseconds: 8_123_456_789_012_345))
        expect(Marker(marker.text), equals: marker)
        for text in [nil, "", "marker", "marker 1", "marker x y", "marker 1 2 3", "In a meeting"] as [String?] {
            expect(Marker(text), equals: nil)
        }
        func isPossible(_ text: String?) -> Bool {
            let presence = Presence(version: 7, status: .online, since: 1, text: text, devices: [.bot])
            let event = ServerMessage.presence(user: UserID("m-1")!, presence, at: 2).encoded()
            return event.withUnsafeBytes { Marker.isPossible(in: $0) }
        }
        expect(isPossible(marker.text))
        expect(!isPossible(nil))
        expect(!isPossible("a marker 1 2"))
        expect([UInt8]("{}".utf8).withUnsafeBytes { !Marker.isPossible(in: $0) })
    }

    @Test func `the kernel's figures for this process are read`() {
        let memory = OwnMemory(
            status: "Name:\tpresence-load\nVmRSS:\t   25252 kB\nRssAnon:\t    2720 kB\nThreads:\t1\n")
        expect(memory.resident, equals: 25_252)
        expect(memory.anonymous, equals: 2_720)
        expect(OwnMemory.now().resident > OwnMemory.now().anonymous)
    }

    @Test(arguments: [["--first-user", "999999"], ["--watch", "1000000"], ["--rate", "-1"], ["--connections", "0"]])
    func `a bad flag is refused`(arguments: [String]) {
        #expect(throws: Never.self) { _ = try MillionCommand.parse([]) }
        #expect(throws: (any Error).self) { _ = try MillionCommand.parse(arguments) }
    }
}
