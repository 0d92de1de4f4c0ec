import Foundation
import PresenceKit

@testable import presence_watch

/// A board of invented users at an invented time.
enum Scene {
    /// 12:00:00 UTC.
    static let now = Date(timeIntervalSince1970: 1_763_726_400)
    static let address = "127.0.0.1:4040"

    static func ago(_ seconds: TimeInterval) -> Date { now.addingTimeInterval(-seconds) }

    static func arrival(_ secondsAgo: TimeInterval, took milliseconds: Int) -> Arrival {
        Arrival(madeAt: ago(secondsAgo + Double(milliseconds) / 1_000), receivedAt: ago(secondsAgo))
    }

    static func person(
        _ user: String, _ name: String? = nil, _ status: PresenceStatus = .online, since: TimeInterval? = 60,
        lastSeen: TimeInterval? = nil, text: String? = nil, devices: [Device.Kind] = [],
        freshness: Freshness = .live, problem: PresenceError? = nil, arrival: Arrival? = nil,
        profileArrival: Arrival? = nil
    ) -> Person {
        Person(
            presence: PersonPresence(
                user: user, status: status, since: since.map(ago), lastSeen: lastSeen.map(ago), text: text,
                devices: devices, version: since == nil ? 0 : 1, freshness: freshness, problem: problem,
                arrival: arrival),
            profile: PersonProfile(
                user: user, exists: name != nil, displayName: name, version: name == nil ? 0 : 1,
                freshness: freshness, problem: problem, arrival: profileArrival))
    }

    static func people(_ freshness: Freshness = .live) -> [Person] {
        [
            person("bob", "Bob", .offline, since: 7_200, lastSeen: 7_210, freshness: freshness),
            person(
                "ana", "Ana Silva", .online, since: 185, text: "Working from home", devices: [.desktop, .phone],
                freshness: freshness, arrival: arrival(12, took: 4)),
            person("cy", "Cy 🎧", .busy, since: 40, text: "In a meeting", devices: [.web], freshness: freshness),
            person("taro", "山田太郎", .away, since: 4_000, devices: [.tablet], freshness: freshness),
            person("zed", nil, .offline, since: nil, freshness: freshness),
        ]
    }

    static func board(_ people: [Person] = people(), state: ConnectionState = .live, typing: [String] = []) -> Board {
        var board = Board(users: people.map(\.user), conversations: ["c1"])
        board.apply(state, at: ago(1))
        board.apply(people, changed: Set(people.map(\.user)))
        if !typing.isEmpty { board.apply(Typing(conversation: "c1", users: typing, freshness: .live)) }
        return board
    }

    /// The picture without colours; the right end of lines is not padded.
    static func picture(
        _ board: Board, _ width: Int, _ height: Int, viewport: Viewport = Viewport(), now: Date = now
    ) -> String {
        Screen(width: width, height: height, address: address).lines(of: board, viewport: viewport, now: now)
            .map(\.plainText).joined(separator: "\n")
    }
}
