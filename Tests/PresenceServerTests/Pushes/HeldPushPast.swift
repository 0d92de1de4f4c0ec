import Foundation
import PresenceProtocol

@testable import PresenceServer

/// The events of a `HeldPushHistory`, with their times (ms since 1970).
struct HeldPushPast {
    struct Push: Hashable {
        let id: String
        let user: String
        /// Known to the second, which begins here.
        let at: Timestamp
        let talks: [String]
        let hints: [Int]
        let isSummary: Bool
    }

    /// A notification of a backend.
    struct Hint {
        let user: String
        let at: Timestamp
        let isUrgent: Bool
        /// The user's wishes when it came.
        let inbox: Bool
        let push: Bool
        /// By the order of the user's notifications that are stored at all.
        var seq: Int
    }

    private(set) var sent: [String: [Timestamp]] = [:]
    /// By user and conversation: when, and up to which message.
    private(set) var reads: [[String]: [(at: Timestamp, seq: Int)]] = [:]
    private(set) var settings: [String: [(at: Timestamp, settings: NotificationSettings)]] = [:]
    var busy: [String: [(at: Timestamp, isBusy: Bool)]] = [:]
    private(set) var hints: [Hint] = []
    private(set) var pushes: Set<Push> = []
    /// Calls of the push service.
    var handed: [(at: Timestamp, user: String, isUrgent: Bool)] = []
    /// The ids of the pushes that these calls had. A push that its user's quiet hours overtake before that is decided anew.
    var handedEvents: Set<String> = []

    /// The pushes that have reached a device.
    var told: [Push] { pushes.filter { handedEvents.contains($0.id) } }

    var holds: Int { settings.values.reduce(0) { $0 + $1.count { $0.settings.quiet != nil } } }

    // MARK: Recording

    mutating func send(_ talk: String, at time: Timestamp) -> Int {
        sent[talk, default: []].append(time)
        return sent[talk]!.count
    }

    /// Returns the newest message's number.
    mutating func read(_ user: String, _ talk: String, at time: Timestamp) -> Int {
        let seq = newest(talk)
        if seq > readTo(user, talk) { reads[[user, talk], default: []].append((time, seq)) }
        return seq
    }

    mutating func set(
        _ user: String, at time: Timestamp, _ change: (inout NotificationSettings) -> Void
    ) -> NotificationSettings {
        var new = settings[user]?.last?.settings ?? NotificationSettings()
        change(&new)
        settings[user, default: []].append((time, new))
        return new
    }

    mutating func hint(_ user: String, isUrgent: Bool, at time: Timestamp) -> Int {
        let kind = settings[user]?.last?.settings.kinds["hint"] ?? .init()
        hints.append(Hint(user: user, at: time, isUrgent: isUrgent, inbox: kind.inbox, push: kind.push, seq: 0))
        return hints.count - 1
    }

    mutating func record(_ call: QueuedEvent) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(call.body)) as? [String: Any],
            let data = object["data"] as? [String: Any], let user = data["user"] as? String,
            let date = (object["timestamp"] as? String).flatMap({ ISO8601DateFormatter().date(from: $0) })
        else { preconditionFailure("no push: \(String(decoding: call.body, as: UTF8.self))") }
        let summary = data["summary"] as? [String: Any]
        let talks = (data["conversation"] as? String).map { [$0] } ?? summary?["conversations"] as? [String] ?? []
        var hints: [Int] = []
        if let text = data["text"] as? String, text.hasPrefix("hint:") { hints = [Int(text.dropFirst(5))!] }
        for name in summary?["notifications"] as? [String] ?? [] {
            hints.append(-Int(name.dropFirst().prefix { $0 != "." })!)
        }
        pushes.insert(
            Push(
                id: call.id, user: user, at: Timestamp(date.timeIntervalSince1970) * 1_000, talks: talks, hints: hints,
                isSummary: summary != nil))
    }

    // MARK: Queries

    func newest(_ talk: String) -> Int { sent[talk, default: []].count }
    func readTo(_ user: String, _ talk: String, at time: Timestamp = .max) -> Int {
        reads[[user, talk]]?.last { $0.at <= time }?.seq ?? 0
    }
    func isBusy(_ user: String) -> Bool { busy[user]?.last?.isBusy ?? false }

    /// 1 is Monday.
    static func weekday(of time: Timestamp) -> Int64 { (time / 86_400_000 + 3) % 7 + 1 }

    /// Whether the pushes of a user are held at a time. In UTC, and by each minute: computed in another way than the server's.
    func isHeld(_ user: String, isUrgent: Bool, at time: Timestamp) -> Bool {
        guard let wishes = settings[user]?.last(where: { $0.at <= time })?.settings else { return false }
        if wishes.whileBusy == .hold, busy[user]?.last(where: { $0.at <= time })?.isBusy == true { return true }
        guard let quiet = wishes.quiet, !(isUrgent && quiet.allow.contains(.urgent)) else { return false }
        let (day, minute) = (Self.weekday(of: time), time / 60_000 % 1_440)
        let (from, to) = (quiet.from.minutes, quiet.to.minutes)
        if from < to { return quiet.days.contains(day) && from <= minute && minute < to }
        return quiet.days.contains(day) && minute >= from || quiet.days.contains((day + 5) % 7 + 1) && minute < to
    }

    /// When that may change in an interval: changes of the settings and of the status, and full minutes.
    private func turns(_ user: String, _ times: ClosedRange<Timestamp>) -> [Timestamp] {
        let minutes = stride(from: times.lowerBound / 60_000 * 60_000 + 60_000, through: times.upperBound, by: 60_000)
        let changes = (settings[user] ?? []).map(\.at) + (busy[user] ?? []).map(\.at)
        return ([times.lowerBound] + minutes + changes.filter(times.contains)).sorted()
    }

    func isHeld(_ user: String, isUrgent: Bool, always times: ClosedRange<Timestamp>) -> Bool {
        turns(user, times).allSatisfy { isHeld(user, isUrgent: isUrgent, at: $0) }
    }

    func isFree(_ user: String, isUrgent: Bool, always times: ClosedRange<Timestamp>) -> Bool {
        turns(user, times).allSatisfy { !isHeld(user, isUrgent: isUrgent, at: $0) }
    }

    /// When what is held for a user is let go.
    func ends(_ user: String, until time: Timestamp) -> [Timestamp] {
        guard let first = settings[user]?.first?.at else { return [] }
        var (ends, before) = ([Timestamp](), false)
        for turn in turns(user, first...max(first, time)) {
            let held = isHeld(user, isUrgent: false, at: turn)
            if before, !held { ends.append(turn) }
            before = held
        }
        return ends
    }
}
