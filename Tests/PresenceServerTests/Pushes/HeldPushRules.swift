import PresenceProtocol

@testable import PresenceServer

/// The rules for held pushes in docs/protocol.md, checked against the events.
struct HeldPushRules {
    private let past: HeldPushPast
    /// Whether no server fails.
    private let isSteady: Bool
    /// In ms: how old what a decision rests on may be. It is short unless servers fail.
    private let margin: Timestamp
    /// In ms: within which a push is made that is wanted.
    private let bound: Timestamp
    private static let second: Timestamp = 1_000
    /// In ms: a push as recent as this is not looked up before its first try; and a server may pause before that.
    private static let handing: Timestamp = 8_000

    init(_ past: HeldPushPast, isSteady: Bool) {
        (self.past, self.isSteady) = (past, isSteady)
        (margin, bound) = isSteady ? (1_000, 20_000) : (PushScheduler.lease, 90_000)
    }

    /// - Parameter now: A time when nothing is held any more, and every push has been made.
    func fault(at now: Timestamp) -> String? {
        for push in past.pushes.sorted(by: { $0.id < $1.id }) { if let fault = early(push) { return fault } }
        for handed in past.handed {
            let times = handed.at - Self.handing...handed.at
            if past.isHeld(handed.user, isUrgent: handed.isUrgent, always: times) {
                return "\(handed.user) was handed a push at \(handed.at), while it was held"
            }
        }
        for user in HeldPushHistory.users {
            if let fault = hints(of: user) ?? scattered(user, now) { return fault }
            for (talk, people) in HeldPushHistory.talks.sorted(by: { $0.key < $1.key }) where people.contains(user) {
                if let fault = lost(user, talk, now) ?? doubled(user, talk) { return fault }
            }
        }
        return nil
    }

    /// There is no push in quiet hours, nor while the user is busy, but an urgent one.
    private func early(_ push: HeldPushPast.Push) -> String? {
        let isUrgent = push.hints.count == 1 && !push.isSummary && past.hints[push.hints[0]].isUrgent
        let times = push.at - margin...push.at + Self.second
        return past.isHeld(push.user, isUrgent: isUrgent, always: times) ? "\(push) was made while it was held" : nil
    }

    private func pushes(_ user: String, _ talk: String) -> [HeldPushPast.Push] {
        past.told.filter { $0.user == user && $0.talks.contains(talk) }.sorted { $0.id < $1.id }
    }

    /// A message that is unread in the end has been pushed.
    private func lost(_ user: String, _ talk: String, _ now: Timestamp) -> String? {
        let read = past.readTo(user, talk)
        guard past.newest(talk) > read else { return nil }
        let sent = past.sent[talk]![read]
        return pushes(user, talk).contains { $0.at + Self.second >= sent }
            ? nil : "\(user) was never told of \(talk):\(read + 1), sent at \(sent)"
    }

    /// After the death of a server it is unknown whether a device got the push of its last try. It is held like one that waits.
    private func isRepeated(_ one: HeldPushPast.Push, _ next: HeldPushPast.Push) -> Bool {
        !isSteady && !past.isFree(one.user, isUrgent: false, always: one.at...max(one.at, next.at))
    }

    /// Without a read in between there is no second push.
    private func doubled(_ user: String, _ talk: String) -> String? {
        let told = pushes(user, talk)
        for (one, next) in zip(told, told.dropFirst()) {
            if isRepeated(one, next) { continue }
            let times = one.at - margin...next.at + Self.second
            if past.reads[[user, talk]]?.contains(where: { times.contains($0.at) }) != true {
                return "\(user) was told twice of \(talk): at \(one.at) and \(next.at)"
            }
        }
        return nil
    }

    /// Each notification is pushed as its user wishes.
    private func hints(of user: String) -> String? {
        // Numbers of the list that summaries name, in the order in which the list got them.
        for (number, hint) in past.hints.enumerated() where hint.user == user {
            let told = past.told.filter { $0.user == user && $0.hints.contains(number) && !$0.isSummary }
                .sorted { $0.id < $1.id }
            if told.count > 1, !isRepeated(told[0], told[1]) {
                return "\(user) was told \(told.count) times of hint \(number)"
            }
            if !hint.push, !told.isEmpty { return "\(user) was told of hint \(number), of a kind that is not pushed" }
        }
        return nil
    }

    /// One push has all that was held until the same end.
    private func scattered(_ user: String, _ now: Timestamp) -> String? {
        let ends = past.ends(user, until: now)
        for (place, end) in ends.enumerated() {
            // These were held all the time, and for so long that they were certainly decided before.
            let held = HeldPushHistory.talks.filter { $0.value.contains(user) }.keys.filter { talk in
                let read = past.readTo(user, talk, at: end + bound)
                guard past.newest(talk) > read, past.readTo(user, talk, at: end - bound) == read else { return false }
                let sent = past.sent[talk]![read]
                return sent < end - bound && past.isHeld(user, isUrgent: false, always: sent...end - 1)
            }
            let last = min(end + bound, place + 1 < ends.count ? ends[place + 1] - 1 : .max)
            let told = past.told.filter { push in
                push.user == user && (end - Self.second...last).contains(push.at)
                    && push.talks.contains(where: held.contains)
            }
            if told.count > 1 { return "\(user) was told in \(told.count) pushes of what was held until \(end)" }
            let isFree = last == end + bound && past.isFree(user, isUrgent: false, always: end...last)
            if isFree, last < now, !held.isEmpty, told.isEmpty {
                return "\(user) was not told by \(last) of \(held.sorted()), held until \(end)"
            }
        }
        return nil
    }
}
