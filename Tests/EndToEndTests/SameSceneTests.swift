import Expectations
import Foundation
import PresenceKit
import TestSupport
import Testing

/// All clients receive the same, whatever their implementation and their server.
struct SameSceneTests {
    private static let photo = URL(string: "https://example.org/bob.png")!

    /// The watchers of the scene: two in Swift, one on each server, and one in Python.
    struct Audience {
        let rosters: [Sightings<Roster>]
        let typing: [Sightings<Typing>]
        let python: PythonWatcher

        /// Waits until all of them show the wanted state, and returns it if they agree.
        @discardableResult
        func sees(_ what: String, _ isWanted: @escaping @Sendable (Scene) -> Bool) async throws -> Scene {
            var scenes: [Scene] = []
            for (roster, typing) in zip(rosters, typing) {
                // Two sequences: whichever changes last brings the scene about.
                scenes.append(
                    try await Patience.wait(for: what) {
                        while true {
                            var scene = Scene(try await roster.until(what) { $0.isComplete && $0.freshness.isLive })
                            scene.typing = try await typing.until(what) { $0.freshness.isLive }.users
                            if isWanted(scene) { return scene }
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    })
            }
            scenes.append(Scene(try await python.sightings.until(what) { isWanted(Scene($0)) }))
            for scene in scenes { expect(scene, equals: scenes[0], "\(what)") }
            return scenes[0]
        }
    }

    @Test(.enabled(if: PythonWatcher.isAvailable, "needs Debian's python3-websockets"))
    func `watchers in Swift and Python on two servers see the same scene`() async throws {
        let redis = try RedisServer()
        let directory = try TemporaryDirectory()
        let settings = ["linger": "500ms", "lease.duration": "3s", "lease.renewal": "1s", "typing.expiry": "2s"]
        let first = try await Presenced(directory: directory, redis: redis.url, settings: settings)
        let second = try await Presenced(directory: directory, redis: redis.url, settings: settings)

        let ana = first.client("ana")
        let dan = second.client("dan")
        let room = try await ana.createConversation(with: ["dan", "pia", "bob", "cy"])
        let people = ["bob", "cy", "eve"]
        let audience = Audience(
            rosters: [ana, dan].map { Sightings($0.roster(of: people)) },
            typing: [ana, dan].map { Sightings($0.typing(in: room.id)) },
            python: try PythonWatcher(
                of: second, token: try await second.token("pia"), conversation: room.id, users: people))
        try await audience.sees("nobody is here") { scene in
            scene.people.count == 3 && scene.people.values.allSatisfy { $0 == Scene.Figure() }
        }

        // They connect, each to another server.
        let bob = first.client("bob", device: Device(kind: .phone))
        let cy = second.client("cy", device: Device(kind: .web))
        bob.connect()
        cy.connect()
        try await audience.sees("both are here") { scene in
            scene.people["bob"]?.devices == ["phone"] && scene.people["cy"]?.devices == ["web"]
        }

        // A second device adds only itself; its profile is the user's.
        let bobsDesk = second.client("bob", device: Device(kind: .desktop))
        try await bobsDesk.updateProfile(displayName: "Bob Ray", photoURL: .set(Self.photo))
        try await cy.setStatus(.busy, text: "in a meeting")
        try await audience.sees("a device, a name, a status with its text") { scene in
            let bob = scene.people["bob"]
            let cy = scene.people["cy"]
            return bob?.devices == ["desktop", "phone"] && bob?.displayName == "Bob Ray"
                && bob?.photoURL == "https://example.org/bob.png" && cy?.status == "busy" && cy?.text == "in a meeting"
        }

        bob.startTyping(in: room.id)
        cy.startTyping(in: room.id)
        try await audience.sees("two type") { $0.typing == ["bob", "cy"] }
        bob.stopTyping(in: room.id)
        try await audience.sees("one types") { $0.typing == ["cy"] }

        // One leaves with all devices; one becomes invisible, which looks the same and ends their typing.
        await bob.disconnect()
        await bobsDesk.disconnect()
        try await cy.setStatus(.invisible)
        let end = try await audience.sees("nobody is here any more") { scene in
            scene.typing.isEmpty && scene.people.values.allSatisfy { $0.status == "offline" }
                && scene.people["bob"]?.lastSeen != nil && scene.people["cy"]?.lastSeen != nil
        }
        expect(end.people["bob"]?.displayName, equals: "Bob Ray")
        expect(end.people["cy"]?.text, equals: nil)
        expect(end.people["eve"], equals: Scene.Figure())

        try await first.stop()
        try await second.stop()
    }
}
