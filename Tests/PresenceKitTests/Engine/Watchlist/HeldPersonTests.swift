import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The rule that keeps clients correct.
@Suite struct HeldPersonTests {
    private var person = HeldPerson()

    private static func presence(_ version: Int64, _ status: PresenceStatus = .online) -> Presence {
        Presence(version: version, status: status)
    }

    @Test mutating func `a reply replaces the value, whatever its version`() {
        person.replace(with: .online("bob", 9))
        person.replace(with: .online("bob", 5))
        expect(person.presence?.version, equals: 5)
    }

    @Test mutating func `an event replaces the value if its version is larger`() {
        person.replace(with: .online("bob", 5))
        expect(!person.apply(Self.presence(4), nil))
        expect(!person.apply(Self.presence(5, .busy), nil))
        expect(person.presence?.status, equals: .online)
        expect(person.apply(Self.presence(6, .busy), nil))
        expect(person.presence?.status, equals: .busy)
    }

    @Test mutating func `an event of version 0 always replaces, and any version may follow`() {
        person.replace(with: .online("bob", 5))
        expect(person.apply(Presence.unknown, nil))
        expect(person.presence?.version, equals: 0)
        expect(person.apply(Self.presence(1), nil))
        expect(person.apply(ProfileRegister.none, nil))
        expect(person.apply(.profile(Profile(version: 1)), nil))
    }

    @Test mutating func `the two registers are independent`() {
        person.replace(with: .online("bob", 5, name: "Bob"))
        expect(person.apply(Self.presence(100), nil))
        expect(!person.apply(.profile(Profile(version: 4)), nil))
        expect(person.apply(.profile(Profile(version: 6)), nil))
        expect(person.presence?.version, equals: 100)
    }

    @Test mutating func `a register that a reply omits is unchanged`() {
        person.replace(with: .online("bob", 5, name: "Bob"))
        person.replace(with: UserSnapshot(user: "bob", presence: Self.presence(7), profile: nil))
        expect(person.presence?.version, equals: 7)
        expect(person.profile?.version, equals: 5)
        person.replace(with: UserSnapshot(user: "bob", presence: nil, profile: ProfileRegister.none))
        expect(person.presence?.version, equals: 7)
        expect(person.profile, equals: ProfileRegister.none)
    }

    @Test mutating func `a change has a time of arrival, a reply has none`() {
        let arrival = Arrival(madeAt: Date(timestamp: 1_000), receivedAt: Date(timestamp: 1_012))
        person.replace(with: .online("bob", 5))
        _ = person.apply(Self.presence(6), arrival)
        expect(person.presenceArrival, equals: arrival)
        person.replace(with: UserSnapshot(user: "bob", presence: Self.presence(6), profile: nil))
        expect(person.presenceArrival, equals: arrival)
        person.replace(with: .online("bob", 7))
        expect(person.presenceArrival, equals: nil)
    }

    @Test mutating func `only known versions are sent`() {
        expect(person.knownVersions, equals: nil)
        person.replace(with: .unknown("bob"))
        expect(person.knownVersions, equals: nil)
        person.replace(with: .online("bob", 5))
        expect(person.knownVersions, equals: .init(presence: 5))
        person.replace(with: .online("bob", 6, name: "Bob"))
        expect(person.knownVersions, equals: .init(presence: 6, profile: 6))
    }

    @Test func `a cache returns what it stored`() throws {
        let profile = Profile(
            version: 3, displayName: "B", photoURL: "https://e.org/b", timezone: "Europe/Paris", locale: "fr",
            createdAt: 1, updatedAt: 2)
        let presence = Presence(
            version: 4, status: .offline, since: 5, lastSeen: 6, text: nil, devices: [])
        let cached = CachedPerson(
            user: "bob", asOf: Date(timestamp: 9), presence: presence, profile: .profile(profile))
        let copy = try JSONDecoder().decode(CachedPerson.self, from: JSONEncoder().encode(cached))
        expect(copy, equals: cached)
        expect(copy.presenceRegister, equals: presence)
        expect(copy.profileRegister, equals: .profile(profile))
    }

    @Test mutating func `a cached value does not replace a known one`() {
        let cached = CachedPerson(
            user: "bob", asOf: Date(timestamp: 9), presence: Self.presence(8), profile: .none)
        expect(person.recall(cached))
        expect(person.staleSince, equals: Date(timestamp: 9))
        person.replace(with: .online("bob", 5))
        expect(!person.recall(cached))
        expect(person.presence?.version, equals: 5)
    }
}
