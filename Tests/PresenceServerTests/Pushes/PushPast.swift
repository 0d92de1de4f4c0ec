import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer

/// The events of a `PushHistory`, with their times (ms since 1970, by a clock that is never set back).
struct PushPast {
    enum Session { case away, idle, active }

    struct Mark {
        let at: Timestamp
        let seq: Int
        /// The number of messages sent by then.
        let sent: Int
    }

    /// A push: the newest message for which it was made.
    struct Push: Hashable {
        let user: String
        let talk: String
        let seq: Int
        let at: Timestamp
        /// Unique, and the same for every delivery to an endpoint.
        let id: String
    }

    /// One conversation of one user.
    struct Place: Hashable {
        let user: String
        let talk: String
    }

    /// The times of each message's sending, the first one at 0.
    var sent: [String: [Timestamp]] = [:]
    private var reads: [Place: [Mark]] = [:]
    private var deliveries: [Place: [Mark]] = [:]
    private var closings: [Place: [(at: Timestamp, isClosed: Bool)]] = [:]
    var states: [String: [(at: Timestamp, state: Session)]] = [:]
    private var deleted: [String: [Int: Timestamp]] = [:]
    /// The time when each user's tokens were first revoked: no device is registered again.
    var revoked: [String: Timestamp] = [:]
    /// The times when a user's device got a new token.
    var devices: [String: [Timestamp]] = [:]
    /// Deletions that servers know: `USER TALK:SEQ`.
    var withdrawn: Set<String> = []
    private(set) var pushes: Set<Push> = []
    /// Pushes that the service has rejected for good, and neither accepted nor kept since: the time of the last
    /// rejection.
    private var refused: [Place: [Int: Timestamp]] = [:]
    /// The time when the service first rejected a push: from then on it may be ignored.
    private var refusedOnce: [Place: [Int: Timestamp]] = [:]
    /// The message of each push, by the time when it was due. A try may send a newer one.
    private(set) var toldFor: [Place: [Timestamp: Int]] = [:]
    struct Handed {
        let at: Timestamp
        let push: PushMessage
        /// The time when Redis last began to accept everything again.
        let redisBack: Timestamp
    }
    private(set) var handed: [Handed] = []
    /// The due times of accepted pushes, by the message that they carried.
    private(set) var taken: [Place: [Int: Set<Timestamp>]] = [:]

    /// A notification of a backend.
    struct Hint {
        let user: String
        let push: NotificationPush
        let at: Timestamp
        var readAt: Timestamp?
        /// The times of its pushes, by their id.
        var pushes: [String: Timestamp] = [:]
    }
    /// By number, from 0 on.
    private(set) var hints: [Hint] = []
    /// How many of them were pushed.
    var hinted: Int { hints.count { !$0.pushes.isEmpty } }

    // MARK: Recording

    /// Returns its number.
    mutating func hint(to user: String, _ push: NotificationPush, at time: Timestamp) -> Int {
        hints.append(Hint(user: user, push: push, at: time))
        return hints.count - 1
    }

    mutating func readHints(of user: String, at time: Timestamp) {
        for place in hints.indices where hints[place].user == user && hints[place].readAt == nil {
            hints[place].readAt = time
        }
    }

    /// The hint of a text `hint:NUMBER`.
    func hint(_ text: String) -> Hint? {
        guard text.hasPrefix("hint:"), let number = Int(text.dropFirst(5)), hints.indices.contains(number) else {
            return nil
        }
        return hints[number]
    }

    mutating func add(_ mark: Mark, isRead: Bool, of user: String, in talk: String) {
        let place = Place(user: user, talk: talk)
        deliveries[place, default: []].append(mark)
        // Marks only move forward.
        if isRead, mark.seq > read(place, at: mark.at) { reads[place, default: []].append(mark) }
    }

    mutating func close(_ user: String, _ talk: String, _ isClosed: Bool, at time: Timestamp) {
        closings[Place(user: user, talk: talk), default: []].append((time, isClosed))
    }

    /// Returns whether the message existed.
    mutating func delete(_ seq: Int, of talk: String, at time: Timestamp) -> Bool {
        guard deleted[talk]?[seq] == nil else { return false }
        deleted[talk, default: [:]][seq] = time
        return true
    }

    func isClosed(_ user: String, _ talk: String) -> Bool {
        closings[Place(user: user, talk: talk)]?.last?.isClosed ?? false
    }

    mutating func recordTold(_ seq: Int, due time: Timestamp, to place: Place) {
        toldFor[place, default: [:]][time] = seq
    }

    mutating func handOver(
        _ push: PushMessage, _ outcome: DeliveryOutcome, due: Timestamp?, at time: Timestamp, redisBack: Timestamp
    ) {
        handed.append(Handed(at: time, push: push, redisBack: redisBack))
        guard push.notification == nil, let said = Self.seq(push.text), let due else { return }
        let place = Place(user: push.user, talk: push.conversation)
        if case .accepted = outcome { taken[place, default: [:]][said, default: []].insert(due) }
        let seq = toldFor[place]?[due] ?? said
        guard case .refused = outcome else { return refused[place, default: [:]][seq] = nil }
        refused[place, default: [:]][seq] = time
        if refusedOnce[place]?[seq] == nil { refusedOnce[place, default: [:]][seq] = time }
    }

    /// Records a push from an endpoint's event.
    ///
    /// - Parameter since: Converts a time of Redis' clock to the clock that is never set back.
    mutating func record(_ body: [UInt8], id: String, _ since: (Timestamp) -> Timestamp) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
            let data = object["data"] as? [String: Any], let user = data["user"] as? String,
            let seq = Self.seq(data["text"] as? String ?? ""),
            let date = (object["timestamp"] as? String).flatMap({ ISO8601DateFormatter().date(from: $0) })
        else { preconditionFailure("no push: \(String(decoding: body, as: UTF8.self))") }
        let time = since(Timestamp(date.timeIntervalSince1970) * 1_000)
        guard let talk = data["conversation"] as? String else { return hints[seq].pushes[id] = time }
        pushes.insert(Push(user: user, talk: talk, seq: seq, at: time, id: id))
    }

    /// Messages have their number in their text: `TALK:SEQ`.
    private static func seq(_ text: String) -> Int? { text.split(separator: ":").last.flatMap { Int($0) } }

    // MARK: Queries

    /// The number of the newest message.
    func newest(_ talk: String) -> Int { sent[talk, default: []].count }

    func read(_ place: Place, at time: Timestamp) -> Int {
        (reads[place] ?? []).filter { $0.at <= time }.map(\.seq).max() ?? 0
    }

    func isDeleted(_ seq: Int, of talk: String, at time: Timestamp) -> Bool {
        deleted[talk]?[seq].map { $0 <= time } ?? false
    }

    /// - Parameter text: The text of a message.
    func isDeleted(_ text: String, at time: Timestamp) -> Bool { deletion(of: text).map { $0 <= time } ?? false }

    func deletion(of text: String) -> Timestamp? {
        guard let seq = Self.seq(text), let talk = text.split(separator: ":").first else { return nil }
        return deleted[String(talk)]?[seq]
    }

    var deletions: Int { deleted.values.map(\.count).reduce(0, +) }

    func delivered(_ place: Place, at time: Timestamp) -> Int {
        (deliveries[place] ?? []).filter { $0.at <= time }.map(\.seq).max() ?? 0
    }

    /// The number of messages at the user's last read. A number, because a read and a send may happen in the same ms.
    func sentBeforeRead(_ place: Place) -> Int { reads[place]?.last?.sent ?? 0 }

    /// Whether the service has ever rejected a push for a message of this conversation.
    func hasRefused(_ place: Place) -> Bool { refusedOnce[place]?.isEmpty == false }

    func refusal(_ push: Push) -> Timestamp? { refused[Place(user: push.user, talk: push.talk)]?[push.seq] }
    func firstRefusal(_ push: Push) -> Timestamp? { refusedOnce[Place(user: push.user, talk: push.talk)]?[push.seq] }

    /// Whether a condition holds at the beginning of an interval and until its end.
    private func always<Value>(
        _ changes: [(at: Timestamp, value: Value)], _ first: Value, _ times: ClosedRange<Timestamp>,
        _ isSo: (Value) -> Bool
    ) -> Bool {
        let before = changes.last { $0.at <= times.lowerBound }?.value ?? first
        return isSo(before) && changes.filter { times.contains($0.at) }.allSatisfy { isSo($0.value) }
    }

    func isClosed(_ place: Place, always times: ClosedRange<Timestamp>) -> Bool {
        always((closings[place] ?? []).map { ($0.at, $0.isClosed) }, false, times) { $0 }
    }

    func isOpen(_ place: Place, always times: ClosedRange<Timestamp>) -> Bool {
        always((closings[place] ?? []).map { ($0.at, $0.isClosed) }, false, times) { !$0 }
    }

    func `is`(_ user: String, _ isSo: (Session) -> Bool, always times: ClosedRange<Timestamp>) -> Bool {
        always((states[user] ?? []).map { ($0.at, $0.state) }, .away, times, isSo)
    }

    /// Whether the user was active with this message at some time, so that its push may have been unnecessary.
    func hadIt(_ place: Place, _ seq: Int, in times: ClosedRange<Timestamp>) -> Bool {
        let first = (deliveries[place] ?? []).first { $0.seq >= seq }?.at ?? .max
        guard first <= times.upperBound else { return false }
        return !self.is(place.user, { $0 != .active }, always: max(first, times.lowerBound)...times.upperBound)
    }
}
