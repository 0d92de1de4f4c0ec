import PresenceCore
import PresenceProtocol
import Redis

/// A user's device: those who wait for one are sent to it one after the other.
struct PushTarget: Hashable {
    let user: String
    let token: String

    init(user: String, token: String) { (self.user, self.token) = (user, token) }

    /// As a queue has it: `LENGTH:USERTOKEN`, without a space, since neither id nor token has one.
    var subject: String { "\(user.utf8.count):\(user)\(token)" }

    /// `nil` for what no server has written.
    init?(subject: String) {
        guard let colon = subject.firstIndex(of: ":"), let length = Int(subject[..<colon]) else { return nil }
        let rest = subject[subject.index(after: colon)...].utf8
        guard length >= 1, length <= rest.count else { return nil }
        let end = rest.index(rest.startIndex, offsetBy: length)
        (user, token) = (String(rest[..<end]) ?? "", String(rest[end...]) ?? "")
    }

    /// Also of what an earlier version has queued, with the user as its subject.
    init?(_ event: QueuedWebhook) {
        if let target = PushTarget(subject: event.subject) {
            self = target
        } else if let message = PushMessage(event.body) {
            self.init(user: message.user, token: message.pushToken)
        } else {
            return nil
        }
    }
}

/// Sees before each try that its device may still be pushed to, and what it is to be told now: users sign out, are deleted, take
/// devices away and read what they are pushed for, and messages are edited and deleted while pushes wait.
final class PushTargets {
    private unowned let shard: ShardLogic
    private unowned let due: DuePushes
    private let platform: String
    /// Users who are looked up at a time.
    private static let window = 8
    /// In ms: what was told so lately is not looked up again before its first try.
    private static let fresh: Milliseconds = 2_000

    init(_ shard: ShardLogic, _ due: DuePushes, platform: String) {
        (self.shard, self.due, self.platform) = (shard, due, platform)
    }

    /// - Parameter done: Gets those whose device may not, and what others say now; `nil` if Redis did not say.
    func check(_ events: [QueuedWebhook], done: @escaping (WebhookCheck?) -> Void) {
        let targets = events.map { ($0.id, PushTarget($0)) }
        // What is damaged is found by the sender.
        let users = Dictionary(grouping: targets.compactMap { id, target in target.map { (id: id, target: $0) } }) {
            $0.target.user
        }
        var (withdrawn, failed): ([String: WebhookOutcome], Bool) = ([:], false)
        BoundedConcurrency(users.sorted { $0.key < $1.key }, window: Self.window) { [self] user, next in
            look(at: user.value.map(\.target.token), of: user.key) { answers in
                guard let answers, answers.count == user.value.count else {
                    failed = true
                    return next()
                }
                for (event, isCurrent) in zip(user.value, answers) where !isCurrent { withdrawn[event.id] = .withdrawn }
                next()
            }
        } done: { [self] in
            guard !failed else { return done(nil) }
            readMeanwhile(events.filter { withdrawn[$0.id] == nil && hasWaited($0) }) { check in
                guard var check else { return done(nil) }
                check.settled.merge(withdrawn) { known, _ in known }
                done(check)
            }
        }
    }

    /// Whether something may have changed since it was told: another try, or one that had to wait for others.
    private func hasWaited(_ event: QueuedWebhook) -> Bool {
        guard event.tries == 0 else { return true }
        guard let at = PushMessage.at(in: event.body) else { return false }
        // One from the future is from before Redis' clock went back.
        return abs(shard.clock.redisNow - at) > Self.fresh
    }

    /// A push that had to wait tells its message as it is now; another try tells the newest message that is unread. It tells nothing
    /// any more once its user has read what it was due for, or that is deleted, or they are no longer in the conversation, or all
    /// that they have not read is deleted; nor if another is told or decided instead of it.
    private func readMeanwhile(_ events: [QueuedWebhook], done: @escaping (WebhookCheck?) -> Void) {
        var (check, failed) = (WebhookCheck(), false)
        BoundedConcurrency(events, window: Self.window) { [self] event, next in
            guard let push = PushMessage(event.body), let user = UserID(push.user),
                let id = ConversationID(push.conversation)
            else { return next() }
            renewed(push, isFirst: event.tries == 0, for: user, in: id) { result in
                switch result {
                case .success(let current?): if current != push { check.bodies[event.id] = current.body }
                case .success(nil): check.settled[event.id] = .withdrawn
                case .failure: failed = true
                }
                next()
            }
        } done: {
            done(failed ? nil : check)
        }
    }

    /// `nil` if there is nothing to tell, or it is damaged.
    private typealias Found = (Result<PushMessage?, RedisFailure>) -> Void

    private func renewed(
        _ push: PushMessage, isFirst: Bool, for user: UserID, in id: ConversationID, found: @escaping Found
    ) {
        let pushed = shard.partitions.keys(of: user).pushed(user)
        shard.store.command(["HMGET", pushed, id.string, " " + id.string], lane: .commands) { [self] result in
            guard case .success(let value) = result, let words = value.array, words.count == 2 else {
                if result.failure?.isLasting == true { shard.noteDamage("push", of: user) }
                return found(Self.none(result.failure))
            }
            let told = words[0].string?.split(separator: " ").prefix(2).compactMap { Int64($0) } ?? []
            // Where nothing counts as told, a new device waits for the next message: until there is one, this is tried.
            let isOver = told.count == 2 ? told[1] != push.at : words[1].bytes != nil
            guard !isOver || push.at == nil else { return found(.success(nil)) }
            renewed(push, due: told.first ?? push.seq, isFirst: isFirst, for: user, in: id, found: found)
        }
    }

    /// - Parameter seq: The message that it was due for, if that is known.
    private func renewed(
        _ push: PushMessage, due seq: Int64?, isFirst: Bool, for user: UserID, in id: ConversationID,
        found: @escaping Found
    ) {
        due.read(id) { [self] result in
            guard case .success(let record) = result else { return found(Self.none(result.failure)) }
            guard let record, let member = record.member(user) else { return found(.success(nil)) }
            // What came until they read it counted as told by this push, which is given up now.
            if let seq, !due.isUnread(seq, by: member) {
                return due.noteNewest(of: record, for: member) { found(Self.nothing(isDone: $0)) }
            }
            renewed(push, due: seq, upTo: isFirst ? seq : nil, for: member, in: record, found: found)
        }
    }

    /// - Parameter last: The newest message that it may tell; `nil`: any.
    private func renewed(
        _ push: PushMessage, due seq: Int64?, upTo last: Int64?, for member: ConversationRecord.Member,
        in record: ConversationRecord, found: @escaping Found
    ) {
        due.newestUnread(by: member, in: record, upTo: last) { [self] result in
            guard case .success(let message) = result else {
                if result.failure?.isLasting == true { shard.noteDamage("conversation", of: record.id) }
                return found(Self.none(result.failure))
            }
            let renew = { [self] in
                guard let message else { return found(.success(nil)) }
                PushContents(shard: shard).renew(push, with: message, in: record, for: member.user, found: found)
            }
            guard let seq, (message?.seq ?? 0) < seq else { return renew() }
            // It has been deleted, and what is told instead is decided anew; or they have blocked who wrote it.
            due.isDeleted(seq, in: record.id) { [self] result in
                guard case .success(let isDeleted) = result else { return found(Self.none(result.failure)) }
                if isDeleted {
                    // Before this push counts as given up: then nobody would know that anything is to be decided.
                    due.withdraw(seq, in: record, of: member.user) { found(Self.nothing(isDone: $0)) }
                } else if last != nil {
                    renewed(push, due: seq, upTo: nil, for: member, in: record, found: found)
                } else {
                    renew()
                }
            }
        }
    }

    private static func nothing(isDone: Bool) -> Result<PushMessage?, RedisFailure> {
        isDone ? .success(nil) : .failure(.disconnected(sent: false))
    }

    private static func none(_ failure: RedisFailure?) -> Result<PushMessage?, RedisFailure> {
        guard let failure, !failure.isLasting else { return .success(nil) }
        return .failure(failure)
    }

    private func look(at tokens: [String], of user: String, found: @escaping ([Bool]?) -> Void) {
        guard let user = UserID(user) else { return found(tokens.map { _ in false }) }
        let keys = shard.partitions.keys(of: user)
        let texts = tokens.map { token in
            var json: [UInt8] = []
            JSONWriter.string(token, to: &json)
            return String(decoding: json, as: UTF8.self)
        }
        shard.store.run(
            .pushCheck, keys: [keys.devices(user), keys.grants(user), keys.user(user)],
            arguments: [platform, String(shard.configuration[Accounts.idle])] + texts, lane: .commands
        ) { [unowned shard] result in
            if result.failure?.isLasting == true {
                // No device can be named that may be told; the other users' may.
                shard.noteDamage("push", of: user)
                return found(tokens.map { _ in false })
            }
            guard case .success(let value) = result else { return found(nil) }
            found(value.array?.map { $0.string == "1" })
        }
    }
}
