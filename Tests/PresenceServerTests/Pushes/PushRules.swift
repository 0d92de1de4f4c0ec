import PresenceProtocol

@testable import PresenceServer

/// The rules for pushes in docs/protocol.md, checked against the events. If something changed while a push was decided,
/// either may have come first: `margin` is the maximal age, in ms, of the reads behind a decision. It is short unless
/// servers fail: a decision after the end of its lease is discarded.
struct PushRules {
    private typealias Place = PushPast.Place
    private typealias Push = PushPast.Push

    private let past: PushPast
    private let margin: Timestamp
    /// In ms: the longest delay between the check of a device and its push, caused by a server that pauses or that
    /// waits for replies about other devices.
    private static let standstill: Timestamp = 5_000
    /// In ms: a push as recent as this is not looked up before its first try.
    private static let fresh: Timestamp = 2_000
    /// The times of pushes are known to the second, which begins at `Push.at`.
    private static let second: Timestamp = 1_000
    private static let wait: Timestamp = 10_000

    /// Whether Redis' clock was set back: then an entry that is due too late is taken at once.
    private let stepsBack: Bool

    init(_ past: PushPast, isCalm: Bool, stepsBack: Bool) {
        (self.past, margin) = (past, isCalm ? 1_000 : PushScheduler.lease)
        self.stepsBack = stepsBack
    }

    /// - Parameter now: A time when every noted push has been decided and delivered.
    func fault(at now: Timestamp) -> String? {
        if let fault = handedLate() { return fault }
        for (number, hint) in past.hints.enumerated() {
            if let fault = fault(of: hint, now) { return "\(hint.user) \(fault) hint \(number), sent at \(hint.at)" }
        }
        let pushes = Dictionary(grouping: past.pushes) { Place(user: $0.user, talk: $0.talk) }
        for (talk, people) in PushHistory.talks.sorted(by: { $0.key < $1.key }) {
            for user in people where user != "ana" {
                let place = Place(user: user, talk: talk)
                // Times are known to the second only, and steps of Redis' clock move where these begin. The ids of a
                // partition's events sort in their order.
                let told = (pushes[place] ?? []).sorted { $0.id < $1.id }
                if let fault = doubled(told, place) ?? repeated(place) ?? lost(told, place, now) { return fault }
                for push in told { if let fault = needless(push, place) ?? early(push, place) { return fault } }
            }
        }
        return nil
    }

    /// A service must get no push for a signed-out user and no deleted text.
    private func handedLate() -> String? {
        for one in past.handed {
            let (at, user, text) = (one.at, one.push.user, one.push.text)
            if let revoked = past.revoked[user], at > max(revoked, one.redisBack) + Self.standstill {
                return "\(user) was handed a push at \(at), after their tokens were revoked"
            }
            if let read = past.hint(text)?.readAt, at > max(read, one.redisBack) + Self.fresh + Self.standstill {
                return "\(user) was handed \(text) at \(at), which was read at \(read)"
            }
            if let deleted = past.deletion(of: text), at > max(deleted, one.redisBack) + Self.fresh + Self.standstill {
                return "\(user) was handed \(text) at \(at), which was deleted at \(deleted)"
            }
        }
        return nil
    }

    /// A notification is pushed once if its backend wishes so, and its user does not read it first.
    private func fault(of hint: PushPast.Hint, _ now: Timestamp) -> String? {
        let (user, sent) = (hint.user, hint.at)
        func isAlways(_ isSo: (PushPast.Session) -> Bool, until time: Timestamp) -> Bool {
            past.is(user, isSo, always: sent...max(sent, time))
        }
        guard let pushed = hint.pushes.values.min() else {
            let isWanted = hint.push == .always || hint.push == .away && isAlways({ $0 != .active }, until: now)
            return isWanted && hint.readAt == nil ? "was not told of" : nil
        }
        let (end, readAt) = (pushed + Self.second, hint.readAt ?? .max)
        if hint.pushes.count > 1 { return "was told \(hint.pushes.count) times of" }
        if hint.push == .never { return "was told against its backend's wish of" }
        if readAt < pushed - margin { return "had read, and was told at \(pushed) of" }
        guard hint.push == .away else { return nil }
        if past.is(user, { $0 == .active }, always: max(sent, pushed - margin)...max(sent, end)) {
            return "was active, and was told at \(pushed) of"
        }
        guard !stepsBack, end < sent + Self.wait, isAlways({ $0 != .away }, until: end) else { return nil }
        return "was told early, at \(pushed), of"
    }

    /// A conversation has one push until it is read or deleted, or its push was given up.
    private func doubled(_ told: [Push], _ place: Place) -> String? {
        for (one, next) in zip(told, told.dropFirst()) {
            if isDeleted(one, next.at + Self.second) { continue }
            if hasNewDevice(place, one.at...next.at + Self.second) {
                continue
            }
            if past.revoked[place.user].map({ next.at + Self.second >= $0 }) == true { continue }
            if let refusal = past.firstRefusal(one), refusal <= next.at + Self.second { continue }
            if past.read(place, at: next.at + Self.second) >= one.seq, next.seq > one.seq { continue }
            return "\(place) was told of \(one.seq) at \(one.at) and of \(next.seq) at \(next.at)"
        }
        return nil
    }

    /// No device gets a message in two pushes, unless the service has rejected one, the device is new, or one of them
    /// replaced an older message that was deleted later.
    private func repeated(_ place: Place) -> String? {
        guard !past.hasRefused(place), past.devices[place.user] == nil else { return nil }
        for (seq, dues) in (past.taken[place] ?? [:]).sorted(by: { $0.key < $1.key }) {
            let told = dues.sorted().filter { due in
                guard let first = past.toldFor[place]?[due], first < seq, let last = dues.max() else { return true }
                return !past.isDeleted(first, of: place.talk, at: last)
            }
            if told.count > 1 { return "\(place) was told of \(seq) by pushes of \(told)" }
        }
        return nil
    }

    private func hasNewDevice(_ place: Place, _ times: ClosedRange<Timestamp>) -> Bool {
        past.devices[place.user, default: []].contains(where: times.contains)
    }

    private func isDeleted(_ push: Push, _ time: Timestamp) -> Bool {
        past.isDeleted(push.seq, of: push.talk, at: time)
    }

    /// A message after the last read that is not deleted and belongs to an absent user must have been pushed.
    private func lost(_ told: [Push], _ place: Place, _ now: Timestamp) -> String? {
        let (read, before) = (past.read(place, at: now), past.sentBeforeRead(place))
        let sent = past.sent[place.talk] ?? []
        let due = sent.indices.filter { index in
            index + 1 > read && index >= before && !past.isDeleted(index + 1, of: place.talk, at: now)
                && past.isOpen(place, always: sent[index]...now)
                && !past.hadIt(place, index + 1, in: sent[index]...now)
        }
        guard let newest = due.last else { return nil }
        let isTold = told.contains { push in
            guard push.seq > read else { return false }
            // A user with revoked tokens has no device: a push that waits for a retry is withdrawn, without a record of
            // the time.
            if past.revoked[place.user] != nil { return true }
            // A push that the service had rejected, or that was made before a device was new, no longer counts, so its
            // deletion has no effect.
            if isDeleted(push, now) { return past.firstRefusal(push) != nil || hasNewDevice(place, push.at...now) }
            return past.refusal(push).map { $0 > sent[newest] - margin } ?? true
        }
        return isTold ? nil : "\(place) was not told of \(newest + 1), sent at \(sent[newest])"
    }

    /// A push is unnecessary if its message is deleted, or its user has read, muted or archived it, or is active and
    /// has it.
    private func needless(_ push: Push, _ place: Place) -> String? {
        let before = push.at - margin
        let times = before...push.at + Self.second
        if isDeleted(push, before) { return "\(push) was deleted before" }
        if past.read(place, at: before) >= push.seq { return "\(push) was read before" }
        if past.isClosed(place, always: times) { return "\(push) was muted or archived" }
        if past.delivered(place, at: before) >= push.seq,
            past.is(place.user, { $0 == .active }, always: times)
        {
            return "\(push) was delivered to somebody who was active"
        }
        return nil
    }

    /// A user with a session has ten seconds.
    private func early(_ push: Push, _ place: Place) -> String? {
        guard !stepsBack else { return nil }
        let unread = past.read(place, at: push.at - margin)
        let sent = past.sent[place.talk] ?? []
        let first = sent.indices.first {
            $0 >= unread && !past.isDeleted($0 + 1, of: place.talk, at: push.at - margin)
        }
        guard let first, sent[first] <= push.at else { return nil }
        guard past.is(place.user, { $0 != .away }, always: sent[first]...push.at + Self.second) else { return nil }
        if push.at + Self.second >= sent[first] + Self.wait { return nil }
        return "\(push) was told early: the first that was unread was sent at \(sent[first])"
    }
}
