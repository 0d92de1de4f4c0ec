import Foundation
import PresenceKit

/// A watcher's view of some people and a conversation, in a form that is comparable between kinds of watchers.
struct Scene: Hashable, Sendable {
    var people: [String: Figure] = [:]
    var typing: [String] = []

    struct Figure: Hashable, Sendable {
        var status = "offline"
        var text: String?
        var devices: [String] = []
        var displayName: String?
        var photoURL: String?
        /// Milliseconds, identical for all watchers that received the same.
        var since: Int64?
        var lastSeen: Int64?
        var presenceVersion: Int64 = 0
        var profileVersion: Int64 = 0
    }

    init() {}

    init(_ held: PythonWatcher.Held) {
        typing = held.typing
        people = held.people.mapValues { registers in
            Figure(
                status: registers.presence?.status ?? "unknown", text: registers.presence?.text,
                devices: registers.presence?.devices ?? [], displayName: registers.profile?.displayName,
                photoURL: registers.profile?.photoURL, since: registers.presence?.since,
                lastSeen: registers.presence?.lastSeen, presenceVersion: registers.presence?.version ?? -1,
                profileVersion: registers.profile?.version ?? 0)
        }
    }

    init(_ roster: Roster) {
        for person in roster.people { people[person.user] = Figure(person) }
    }
}

extension Scene.Figure {
    init(_ person: Person) {
        let presence = person.presence
        self.init(
            status: presence.status.rawValue, text: presence.text, devices: presence.devices.map(\.rawValue),
            displayName: person.displayName, photoURL: person.profile.photoURL?.absoluteString,
            since: presence.since?.milliseconds, lastSeen: presence.lastSeen?.milliseconds,
            presenceVersion: presence.version, profileVersion: person.profile.version)
    }
}

extension Date {
    var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded()) }
}
