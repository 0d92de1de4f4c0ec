import Expectations
import Foundation
import PresenceKit
import Testing

/// Every call of the library against a server, with its effects that an app sees.
@Suite(.sharedServer(["linger": "500ms", "lease.duration": "4s", "lease.renewal": "1s", "typing.expiry": "2s"]))
struct ClientCallTests {
    let server = SharedServer.current!

    @Test func `an observed user appears, and is offline at once when they leave`() async throws {
        let watcher = server.client("come-watcher")
        let presence = Sightings(watcher.presence(of: "come"))
        let unknown = try await presence.next("an answer") { $0.freshness.isLive }
        expect(!unknown.isKnown && !unknown.isOnline && unknown.since == nil && unknown.lastSeen == nil)

        let person = server.client("come", device: Device(kind: .tablet))
        person.connect()
        let here = try await presence.next("online", \.isOnline)
        expect(here.status == .online && here.devices == [.tablet] && here.isKnown && here.lastSeen == nil)
        let latency = try #require(here.changeLatency)
        expect(latency >= .zero && latency < Patience.limit)
        await expect(person.me.user, equals: "come")
        let distance = abs((try #require(here.since)).timeIntervalSince(await watcher.serverNow))
        expect(distance < 60)

        await person.disconnect()
        let gone = try await presence.next("offline") { !$0.isOnline }
        expect(gone.version > here.version && gone.lastSeen != nil && gone.devices.isEmpty)
        person.connect()
        try await presence.next("online again", \.isOnline)
    }

    @Test func `a person is presence and profile together, a roster many of them`() async throws {
        let watcher = server.client("pair-watcher")
        let person = Sightings(watcher.updates(of: "pair"))
        let profile = Sightings(watcher.profile(of: "pair"))
        let roster = Sightings(watcher.roster(of: ["pair", "pair-2", "pair"]))
        let unknown = try await roster.until("a whole roster") { $0.isComplete && $0.freshness.isLive }
        expect(unknown.users == ["pair", "pair-2"] && unknown.online.isEmpty)
        try await expect(!profile.until("an answer") { $0.freshness.isLive }.exists)

        let client = server.client("pair")
        let update = try await client.updateProfile(
            displayName: "  Pair O’Connor ", photoURL: .set(URL(string: "https://example.org/p.png")!),
            timezone: .set("Europe/Paris"), locale: .set("pt-BR"))
        guard case .saved(let saved) = update else {
            Issue.record("\(update)")
            return
        }
        let seen = try await profile.until("a profile", \.exists)
        expect(saved.displayName == "Pair O’Connor" && saved.version == seen.version)
        expect(seen.displayName == saved.displayName && seen.photoURL?.absoluteString == "https://example.org/p.png")
        expect(seen.timezone == "Europe/Paris" && seen.locale == "pt-BR")
        expect(seen.createdAt != nil && seen.updatedAt == seen.createdAt)
        let both = try await person.until("both") { $0.isOnline && $0.profile.exists }
        expect(both.isFound && both.displayName == "Pair O’Connor" && both.profile.version == seen.version)
        let change = try await roster.until("one of two online") { $0.online.map(\.user) == ["pair"] }
        expect(change.changed.contains("pair") && change["pair"]?.presence.version == both.presence.version)

        try await client.updateProfile(ProfileChanges(photoURL: .remove))
        let without = try await profile.until("no photo") { $0.exists && $0.photoURL == nil }
        expect(without.version > seen.version && without.timezone == "Europe/Paris")
        let ended = Sightings(watcher.presence(of: "no id"))
        try await ended.untilOver()
        await expect(ended.all.map { $0.freshness.isLive }, equals: [false])
    }

    @Test func `get returns only users with known data`() async throws {
        let watcher = server.client("get-watcher")
        let person = server.client("get-1")
        try await person.updateProfile(displayName: "One")
        try await server.client("get-2").updateProfile(displayName: "Two")
        let one = try #require(try await watcher.person("get-1"))
        expect(one.displayName == "One" && one.isOnline && one.freshness.isLive)
        try await expect(watcher.person("get-nobody"), equals: nil)
        let people = try await watcher.people(["get-2", "get-nobody", "get-1", "get-2"])
        expect(people.map(\.displayName), equals: ["Two", "One"])
        await #expect(throws: PresenceError.self) { try await watcher.person("not an id") }

        // Away, the cache answers.
        let presence = Sightings(watcher.presence(of: "get-1"))
        try await presence.until("online") { $0.isOnline && $0.freshness.isLive }
        await presence.stop()
        await watcher.disconnect()
        let remembered = try #require(try await watcher.person("get-1"))
        expect(remembered.displayName == "One" && remembered.freshness.staleSince != nil)
    }

    @Test func `others see status, text and activity`() async throws {
        let presence = Sightings(server.client("status-watcher").presence(of: "status"))
        let person = server.client("status")
        let other = server.client("status", device: Device(kind: .desktop))
        let own = Sightings(other.statusUpdates)
        try await own.until("auto") { $0.status == .auto && $0.freshness.isLive }

        try await person.setStatus(.busy, text: "on the phone", clearAfter: .seconds(3_600))
        let busy = try await presence.until("busy") { $0.status == .busy }
        expect(busy.text, equals: "on the phone")
        let chosen = try await own.until("the own status, on another device") { $0.status == .busy }
        expect(chosen.text == "on the phone" && chosen.clearsAt != nil)
        try await person.setStatus(.busy)
        try await expect(own.until("a choice for good") { $0.clearsAt == nil }.text, equals: "on the phone")

        try await person.setStatus(.auto, text: "")
        try await presence.until("online, without a text") { $0.status == .online && $0.text == nil }
        try await person.setStatus(.auto, text: "for a while", clearAfter: .seconds(4))
        try await presence.next("a text") { $0.text == "for a while" }
        try await presence.next("no text any more") { $0.text == nil }
        try await own.until("no text any more") { $0.text == nil && $0.clearsAt == nil }

        // Any active device keeps them online.
        person.setActivity(.idle)
        other.setActivity(.idle)
        try await presence.until("away") { $0.status == .away }
        person.setActivity(.active)
        try await presence.until("online") { $0.status == .online }
        try await person.setStatus(.invisible)
        try await presence.until("invisible") { $0.status == .offline && $0.lastSeen != nil }

        let error = await #expect(throws: PresenceError.self) {
            try await person.setStatus(.busy, text: .set(String(repeating: "x", count: 141)))
        }
        expect(error?.code == .validationFailed && error?.field == "text")
    }

    @Test func `a profile is changed whole or not at all, and kept while away if asked`() async throws {
        let profile = Sightings(server.client("keep-watcher").profile(of: "keep"))
        let person = server.client("keep")
        try await person.updateProfile(displayName: "Before")
        let error = await #expect(throws: PresenceError.self) {
            try await person.updateProfile(displayName: "Half", photoURL: .set(URL(string: "ftp://no.address")!))
        }
        expect(error?.code == .validationFailed && error?.field == "photoURL")

        await person.disconnect()
        let away = await #expect(throws: PresenceError.self) {
            try await person.updateProfile(displayName: "Lost", offline: .fail)
        }
        expect(away?.code, equals: .notConnected)
        let kept = Sightings(person.pendingProfileUpdates)
        try await expect(person.updateProfile(displayName: "Kept", offline: .queue), equals: .queued)
        // Only the server knows all time zones.
        try await expect(person.updateProfile(timezone: .set("Mars/Olympus"), offline: .queue), equals: .queued)
        try await expect(person.updateProfile(locale: .set("pt-BR"), offline: .queue), equals: .queued)
        try await kept.until("three that wait") { $0.waiting?.locale == .set("pt-BR") }
        person.connect()
        let seen = try await profile.until("what was kept") { $0.locale == "pt-BR" }
        expect(seen.displayName == "Kept" && seen.timezone == nil)
        let done = try await kept.until("nothing that waits") { $0.waiting == nil }
        expect(done.refusal?.field, equals: "timezone")
        await expect(profile.all.allSatisfy { [nil, "Before", "Kept"].contains($0.displayName) })
    }

    @Test func `the cache is empty after clearing it`() async throws {
        let watcher = server.client("clear-watcher")
        try await server.client("clear").updateProfile(displayName: "Clear")
        try await expect(watcher.person("clear")?.displayName, equals: "Clear")
        await watcher.disconnect()
        try await expect(watcher.person("clear")?.displayName, equals: "Clear")
        await watcher.clearCache()
        let error = await #expect(throws: PresenceError.self) { try await watcher.person("clear") }
        expect(error?.code, equals: .notConnected)
    }
}
