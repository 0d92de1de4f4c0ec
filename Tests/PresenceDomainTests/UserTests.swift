import Expectations
import Foundation
import PresenceKit
import Testing

/// REQUIREMENTS 002 and 004: the user as a value.
@Suite struct UserTests {
    private static let full = User(
        id: "u1", email: "john@example.org", displayName: "John Doe", username: "john.d",
        profileImageURL: URL(string: "https://example.org/j.jpg"), timezone: "Europe/Paris", locale: "fr-FR",
        preferredLanguage: "fr", isOnline: true, lastSeen: Date(timeIntervalSince1970: 1_000),
        createdAt: Date(timeIntervalSince1970: 500), fcmToken: "token")

    @Test func `a user has the defaults that were asked for`() {
        let before = Date()
        let user = User(id: "u1", displayName: "John")
        expect(!user.isOnline)
        expect(user.lastSeen >= before && user.createdAt >= before)
        expect(user.email == nil && user.fcmToken == nil && user.preferredLanguage == nil)
        expect(user.schemaVersion, equals: 1)
    }

    @Test func `a user comes back from JSON as it was, whole or with what may be missing`() throws {
        for user in [Self.full, User(id: "u2", displayName: "Solo", lastSeen: .distantPast, createdAt: .distantPast)] {
            let data = try JSONEncoder().encode(user)
            try expect(JSONDecoder().decode(User.self, from: data), equals: user)
        }
    }

    @Test func `users, their changes and pictures survive JSON unchanged`() throws {
        func comesBack<Value: Codable & Equatable>(_ value: Value) throws {
            try expect(JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)), equals: value)
        }
        let url = URL(string: "https://example.org/j.jpg")!
        try comesBack(User.State(user: Self.full, isStale: true))
        try comesBack(Users([Self.full], missing: ["u2"], isStale: true))
        for update in [ProfileUpdate.saved(Self.full), .queued] { try comesBack(update) }
        try comesBack(Photo(url: url, thumbnailURL: nil))
        for changes in [
            ProfileChanges(), ProfileChanges(displayName: "Ana", photoURL: .set(url), timezone: "Europe/Paris"),
            // A removed member differs from an unchanged one.
            ProfileChanges(photoURL: .remove, timezone: .remove, locale: .remove),
        ] { try comesBack(changes) }
    }

    @Test func `the id is uid in stored data`() throws {
        let members = try #require(
            JSONSerialization.jsonObject(with: JSONEncoder().encode(Self.full)) as? [String: Any])
        expect(members["uid"] as? String, equals: "u1")
        expect(members["id"] == nil)
        expect(members["schemaVersion"] as? Int, equals: 1)
        expect(members["profileImageURL"] as? String, equals: "https://example.org/j.jpg")
    }

    @Test func `data from before schema versions is read`() throws {
        let old =
            #"{"uid":"u1","email":"","displayName":"John","photoURL":"https://example.org/j.jpg","createdAt":500}"#
        let user = try JSONDecoder().decode(User.self, from: Data(old.utf8))
        expect(user.profileImageURL?.absoluteString, equals: "https://example.org/j.jpg")
        expect(user.email, equals: nil)
        expect(user.lastSeen, equals: user.createdAt)
        expect(user.schemaVersion, equals: 1)
    }

    @Test func `data of a later schema version is refused and not misread`() {
        let later = #"{"uid":"u1","displayName":"John","schemaVersion":2}"#
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(User.self, from: Data(later.utf8)) }
    }

    @Test(arguments: [
        ("John Doe", "JD"), ("john", "JO"), ("X", "X"), ("  anna  maria   smith ", "AS"), ("", "?"), ("   ", "?"),
        ("élodie brun", "ÉB"), ("🎧 dj", "🎧D"), ("ß straße", "SSS"),
    ])
    func `initials are of the first and the last word`(name: String, initials: String) {
        expect(User(id: "u1", displayName: name).displayInitials, equals: initials)
    }

    @Test func `users are equal if all members are, and are identified by id`() {
        var other = Self.full
        expect(other == Self.full && other.hashValue == Self.full.hashValue)
        other.isOnline = false
        expect(other != Self.full)
        expect(other.id, equals: Self.full.id)
    }
}
