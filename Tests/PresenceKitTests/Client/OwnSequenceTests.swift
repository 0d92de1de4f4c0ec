import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Values and sequences that an app makes itself.
@Suite(.timeLimit(.minutes(1))) struct OwnSequenceTests {
    private struct Failure: Error {}

    private static func online(_ user: String) -> Person {
        Person(
            presence: PersonPresence(user: user, status: .online, version: 1, freshness: .live),
            profile: PersonProfile(user: user, freshness: .live))
    }

    private func all<Element>(_ updates: PresenceUpdates<Element>) async -> [Element] {
        var all: [Element] = []
        for await element in updates { all.append(element) }
        return all
    }

    @Test func `updates are made of values, of a stream, and of any sequence`() async {
        let values = PresenceUpdates([1, 2, 3])
        await expect(all(values), equals: [1, 2, 3])
        await expect(all(values), equals: [1, 2, 3], "as often as needed")
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        for number in 1...3 { continuation.yield(number) }
        continuation.finish()
        await expect(all(PresenceUpdates(stream.map { $0 * 2 })), equals: [2, 4, 6])
    }

    @Test func `if another sequence throws, updates end`() async {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
        continuation.yield(1)
        continuation.finish(throwing: Failure())
        await expect(all(PresenceUpdates(stream)), equals: [1])
    }

    @Test func `cancelling a loop over another sequence ends that one`() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let loop = Task { await all(PresenceUpdates(stream)) }
        loop.cancel()
        _ = await loop.value
        continuation.finish()
    }

    @Test func `a roster is a collection of all requested users`() {
        let roster = Roster(["bob", "cy", "bob"], people: [Self.online("cy"), Self.online("nobody asked")])
        expect(roster.users == ["bob", "cy"] && roster.count == 2)
        expect(roster.map(\.user) == ["bob", "cy"] && roster.map(\.isOnline) == [false, true])
        expect(roster[0].freshness == .unknown && roster["bob"] == nil)
        expect(roster.changed == ["cy"] && !roster.isComplete)
        expect(roster, equals: Roster(["bob", "cy"], people: [Self.online("cy")]))
        expect(roster != Roster(["bob", "cy"]))
        expect(roster != Roster(["cy", "bob"], people: [Self.online("cy")]))
    }

    @Test func `values come back from JSON as they were`() throws {
        func comesBack<Value: Codable & Equatable>(_ value: Value) throws {
            try expect(JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)), equals: value)
        }
        var person = Self.online("bob")
        person.presence.problem = PresenceError(
            .rateLimited, "slow", field: "x", retryAfter: .milliseconds(1_500), outcomeUnknown: true)
        person.presence.freshness = .stale(since: Date(timeIntervalSince1970: 5))
        person.presence.arrival = Arrival(
            madeAt: Date(timeIntervalSince1970: 1), receivedAt: Date(timeIntervalSince1970: 2))
        try comesBack(person)
        try comesBack(Typing(conversation: "c1", users: ["bob"], othersCount: 2, freshness: .live))
        try comesBack(Device(id: "d", kind: .tablet, name: "n"))
        try comesBack(Me.Status(status: .busy, text: "x", freshness: .live))
        let problem = PresenceError(.notConnected, "no network", retryAfter: .seconds(2))
        try comesBack(
            Me(
                user: "ana", status: Me.Status(status: .auto, freshness: .unknown, problem: problem),
                profile: person.profile, visibility: Me.Audiences(presence: .contacts, contactsCount: 3),
                queuedStatus: .busy, statusRefusal: problem, problem: problem))
        try comesBack(Me.Visibility(presence: .nobody, lastSeen: .everyone, contacts: ["bob"], blocked: ["eve"]))
        try comesBack(
            PresenceKit.ProfileChanges.Pending(waiting: .init(displayName: "A", locale: nil), refusal: problem))
        for update in [ProfileUpdate.queued, .saved(person.profile)] { try comesBack(update) }
        for update in [PresenceKit.ChosenStatus.Update.queued, .saved] { try comesBack(update) }
        for state in [
            .idle, .connecting, .live, .stale(since: Date(timeIntervalSince1970: 5)), .closed(nil), .closed(problem),
            .reconnecting(in: .milliseconds(1_500), because: problem),
        ] as [ConnectionState] {
            try comesBack(state)
        }
        try comesBack(People([person], missing: ["cy"], unanswered: ["cy"], problem: problem))
        var roster = Roster(["bob", "cy", "dan"], people: [person, Self.online("cy")])
        roster.update(with: [Self.online("cy")])
        try comesBack(roster)
        let decoded = try JSONDecoder().decode(Roster.self, from: JSONEncoder().encode(roster))
        expect(decoded.changed == ["cy"] && decoded["dan"] == nil && !decoded.isComplete)
        for changes in [
            .init(), .init(displayName: "A", photoURL: nil, locale: "de"),
            .init(photoURL: .set(URL(string: "https://example.org/a.jpg")!), timezone: .remove),
        ] as [PresenceKit.ProfileChanges] {
            try comesBack(changes)
        }
        let wire = try JSONEncoder().encode(PresenceKit.ProfileChanges(displayName: "A", photoURL: nil))
        let members = try #require(JSONSerialization.jsonObject(with: wire) as? [String: Any])
        expect(members["displayName"] as? String == "A" && members["photoURL"] is NSNull && members.count == 2)
    }

    @Test func `a change is written as a literal`() {
        let name = "Ana"
        expect(PresenceKit.Change<String>("Ana"), equals: .set("Ana"))
        expect("\(name) B" as PresenceKit.Change<String>, equals: .set("Ana B"))
        expect(nil as PresenceKit.Change<URL>, equals: .remove)
    }

    @Test func `every error is described in plain language, without its code`() {
        let codes: [PresenceError.Code] = [
            .badRequest, .unknownType, .unauthorized, .forbidden, .validationFailed, .conflict, .tooMany, .rateLimited,
            .unavailable, .internalError, .invalidID, .invalidURL, .notConnected, .connectionLost, .timedOut,
            .tokenUnavailable, .protocolViolation, .replaced, .disconnectedByAdministrator, .serverUnavailable,
            .signedOut, .storageFailed, .init(rawValue: "something_new"),
        ]
        for code in codes {
            let error = PresenceError(code, "developers' words")
            let text = error.localizedDescription
            expect(text.hasSuffix(".") && !text.contains("_") && !text.contains("developers"), "\(code)")
        }
        expect(
            PresenceError(.validationFailed, "", field: "displayName").errorDescription,
            equals: "This name cannot be used.")
        expect(PresenceError(.timedOut, "").recoverySuggestion, equals: "Please try again in a moment.")
        expect(
            PresenceError(.unavailable, "", retryAfter: .milliseconds(2_500)).recoverySuggestion,
            equals: "Please try again in 3 seconds.")
        expect(
            PresenceError(.unavailable, "", retryAfter: .seconds(Int64.max)).recoverySuggestion,
            equals: "Please try again in 31622400 seconds.")
        expect(
            PresenceError(.timedOut, "", outcomeUnknown: true).recoverySuggestion?.contains("may have worked"),
            equals: true)
    }

    @Test func `the advice for a code is not given with another text`() {
        let own = PresenceError(.unauthorized, sentence: "Your trial has ended.")
        expect(own.recoverySuggestion, equals: nil)
        let advised = PresenceError(.unauthorized, sentence: "Your trial has ended.", recovery: "Please subscribe.")
        expect(advised.recoverySuggestion, equals: "Please subscribe.")
        let lost = PresenceError(.timedOut, outcomeUnknown: true, sentence: "No answer.", recovery: "Please wait.")
        expect(lost.recoverySuggestion?.contains("may have worked"), equals: true)
        // The operation is only added to the code's text.
        let saving = PresenceError(writing: PresenceError(.timedOut))
        expect(saving.localizedDescription, equals: "Failed to save the user. The server took too long to answer.")
        expect(saving.recoverySuggestion, equals: "Please try again in a moment.")
        expect(PresenceError(writing: own).recoverySuggestion, equals: nil)
        expect(PresenceError(writing: advised).recoverySuggestion, equals: "Please subscribe.")
    }

    @Test func `storage errors are described in plain language, without paths and numbers`() {
        let errors: [(StorageError, String?)] = [
            (.inUse("/a/b"), "Please close the other one and try again."),
            (.closed("/a/b"), nil),
            (.laterVersion("/a/b", 7), "Please install the newest version of the app."),
            (.full(7), "Please check your internet connection and try again."),
            (.failed("write", "/a/b", ENOSPC), "Please free some space and try again."),
            (.failed("open", "/a/b", EACCES), nil),
        ]
        for (error, suggestion) in errors {
            let text = error.localizedDescription
            expect(text.hasSuffix(".") && !text.contains("/") && !text.contains(/[0-9]/), "\(error)")
            expect(!text.contains("StorageError") && error.recoverySuggestion == suggestion, "\(error)")
        }
    }

    @Test func `the library's words match the protocol's`() {
        expect(PresenceKit.PresenceStatus.allCases.map(\.rawValue), equals: PresenceStatus.allCases.map(\.rawValue))
        expect(PresenceKit.Device.Kind.allCases.map(\.rawValue), equals: DeviceKind.allCases.map(\.rawValue))
        expect(PresenceKit.ChosenStatus.allCases.map(\.rawValue), equals: ChosenStatus.allCases.map(\.rawValue))
        expect(PresenceKit.Activity.allCases.map(\.rawValue), equals: Activity.allCases.map(\.rawValue))
        expect(PresenceKit.Audience.allCases.map(\.rawValue), equals: Audience.allCases.map(\.rawValue))
        for kind in DeviceKind.allCases { expect(PresenceKit.Device.Kind(kind).wire, equals: kind) }
    }

    @Test func `ids are validated as the server does`() {
        for id in ["a", "u-1", "!~", String(repeating: "x", count: 128)] { expect(PresenceClient.isValidID(id)) }
        for id in ["", "a b", "é", "\n", String(repeating: "x", count: 129)] { expect(!PresenceClient.isValidID(id)) }
    }

    @Test func `a change of network is noticed, a repetition and the first update are not`() {
        let (none, wifi, mobile) = (
            NetworkPath(isSatisfied: false, interfaces: []), NetworkPath(isSatisfied: true, interfaces: ["en0"]),
            NetworkPath(isSatisfied: true, interfaces: ["pdp_ip0"])
        )
        func tells(_ now: NetworkPath, after former: NetworkPath?) -> String {
            switch now.input(after: former) {
            case .network(let isThere): isThere ? "there" : "gone"
            case .reconnect: "changed"
            case nil: "nothing"
            default: "?"
            }
        }
        expect(tells(wifi, after: nil), equals: "nothing")
        expect(tells(none, after: nil), equals: "gone")
        expect(tells(none, after: wifi), equals: "gone")
        expect(tells(mobile, after: none), equals: "there")
        expect(tells(mobile, after: wifi), equals: "changed")
        expect(tells(wifi, after: wifi), equals: "nothing")
        expect(tells(none, after: none), equals: "nothing")
        let both = NetworkPath(isSatisfied: true, interfaces: ["en0", "pdp_ip0"])
        expect(tells(both, after: wifi), equals: "nothing")
        expect(tells(wifi, after: both), equals: "nothing")
        expect(tells(mobile, after: both), equals: "changed")
    }
}
