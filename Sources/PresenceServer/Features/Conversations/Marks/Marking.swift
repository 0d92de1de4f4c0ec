import PresenceCore
import PresenceProtocol
import Redis

/// Writes the marks of members: how far messages have reached their devices, and how far they have read.
///
/// All members who receive a message mark it, and each change of a conversation is sent to all members. If the marks
/// for a message to ten members were written one by one, they would be nine changes and ninety events. So the marks of
/// one conversation are collected for `conversations.markDelay` and written by one script. Each mark is acknowledged
/// when it is stored. A connection's requests are answered in their order, so a further request, or the end of the
/// connection, ends the delay.
///
/// Before the write, each member's partition confirms that the member's token is still valid. In a cluster one master
/// may not answer until `commandTimeout`: the other members' marks wait for that master at most the delay once more.
final class Marking {
    static let delay = Setting<Milliseconds>(
        "conversations.markDelay", 100, in: 0...1_000,
        about: "For how long marks of a conversation (delivered, read) are collected before they are written and "
            + "published together; 0: each is written at once. Further requests of the same connection do not wait "
            + "for it.")

    /// A member's request.
    private final class Wish {
        let writer: Writer
        let user: UserID
        let delivered: Int64
        let read: Int64
        let done: StoreReply
        /// When the token was confirmed, by this shard's clock.
        var goodAt: Milliseconds = 0
        /// The members from whom the user's deliveries are hidden.
        var hidden = DeliveryAudience.Hidden.fromAll

        init(_ request: ConversationRequest.Marks, _ context: RequestContext, done: @escaping StoreReply) {
            (writer, user) = (context.writer, context.user)
            (delivered, read) = (request.delivered, request.read)
            self.done = done
        }
    }

    /// Marks of a conversation that are written next.
    private struct Asked {
        /// Marks whose tokens are not confirmed yet.
        var unanswered = 0
        var good: [Wish] = []
    }

    private unowned let shard: ShardLogic
    private var talks: Conversations { shard.feature(Conversations.self)! }
    /// Each wish belongs to a pending request, so `limits.pendingRequests` of each connection bounds them.
    private var waiting: [ConversationID: [Wish]] = [:]
    private var due: DeadlineKind!
    /// Marks whose tokens are being confirmed.
    private var asked: [ConversationID: Asked] = [:]
    private var late: DeadlineKind!
    private var marked: MetricCounter!
    private var written: MetricCounter!
    /// The most users in one script.
    private static let most = 64

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        due = registry.deadline { [unowned self] key in if case .id(let id) = key { write(id) } }
        late = registry.deadline { [unowned self] key in if case .id(let id) = key { writeGood(id) } }
        marked = registry.counter("marks_total", help: "marks of conversations that clients sent")
        written = registry.counter(
            "mark_writes_total", help: "scripts that wrote marks, each the collected ones of one conversation")
        registry.gauge("marks_waiting", help: "marks collected and not yet written") { [unowned self] in
            waiting.values.reduce(0) { $0 + $1.count }
                + asked.values.reduce(0) { $0 + $1.unanswered + $1.good.count }
        }
        registry.request(
            "mark", order: .mark,
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.marks(members) }
        ) { [unowned self] in mark($0, $1) }
    }

    private func mark(_ request: ConversationRequest.Marks, _ context: RequestContext) {
        marked.value += 1
        let id = request.conversation
        shard.write(
            context.connection, context.id, hurry: { [unowned self] in write(id) },
            refusing: { ConversationRefusal(rawValue: $0)?.refusal }
        ) { [self] done in
            collect(Wish(request, context, done: done), of: id)
        } succeeded: { [unowned shard] _ in
            shard.replies.ok(context.id, to: context.connection)
        }
    }

    private func collect(_ wish: Wish, of id: ConversationID) {
        let isFirst = waiting[id] == nil
        waiting[id, default: []].append(wish)
        let delay = shard.configuration[Self.delay]
        if delay == 0 || waiting[id]!.count >= Self.most { return write(id) }
        if isFirst { shard.deadlines.set(due, .id(id), at: shard.clock.now + delay) }
    }

    /// Confirms the tokens of the waiting marks, then writes those that are still valid.
    private func write(_ id: ConversationID) {
        guard let wishes = waiting.removeValue(forKey: id) else { return }
        confirm(wishes, of: id)
    }

    private func confirm(_ wishes: [Wish], of id: ConversationID) {
        asked[id, default: Asked()].unanswered += wishes.count
        for wish in wishes {
            // Both checks run at once, so that a later request of the connection does not overtake the mark.
            var (isGood, hidden): (Bool, Result<DeliveryAudience.Hidden, RedisFailure>?) = (false, nil)
            func decide() {
                guard isGood, let hidden else { return }
                if case .success(let hidden) = hidden {
                    wish.hidden = hidden
                    return answered(wish, of: id)
                }
                wish.done(.failure(hidden.failure!))
                answered(nil, of: id)
            }
            shard.unlessRevoked(wish.writer) { [self] result in
                wish.done(result)
                answered(nil, of: id)
            } _: { [unowned shard] in
                wish.goodAt = shard.clock.now
                isGood = true
                decide()
            }
            shard.tasks.run { [self] in
                do throws(RedisFailure) {
                    hidden = .success(try await DeliveryAudience(shard: shard).hidden(of: wish.user, in: id))
                } catch {
                    hidden = .failure(error)
                }
                decide()
            }
        }
    }

    /// - Parameter good: a mark whose token is valid; `nil`: the token is not valid, or could not be confirmed.
    private func answered(_ good: Wish?, of id: ConversationID) {
        asked[id]!.unanswered -= 1
        if let good {
            asked[id]!.good.append(good)
        }
        let now = asked[id]!
        if now.unanswered == 0 || now.good.count >= Self.most { return writeGood(id) }
        guard good != nil, now.good.count == 1 else { return }
        shard.deadlines.set(late, .id(id), at: shard.clock.now + shard.configuration[Self.delay])
    }

    private func writeGood(_ id: ConversationID) {
        guard let wishes = asked[id]?.good else { return }
        asked[id]!.good = []
        if asked[id]!.unanswered == 0 { asked[id] = nil }
        // If this server was suspended meanwhile, a token may have been revoked since it was confirmed.
        let oldest = shard.clock.now - shard.configuration.commandTimeout
        let stale = wishes.filter { $0.goodAt < oldest }
        if !stale.isEmpty { confirm(stale, of: id) }
        write(wishes.filter { $0.goodAt >= oldest }, of: id)
    }

    /// The words of one user in the reply: one, or those of a ban.
    private static func words(_ value: RedisValue) -> [RedisValue] {
        (value.string ?? "").split(separator: " ").map { .status(String($0)) }
    }

    private func write(_ wishes: [Wish], of id: ConversationID) {
        guard !wishes.isEmpty else { return }
        written.value += 1
        // With several devices of a user, the furthest mark counts.
        let byUser = Dictionary(grouping: wishes, by: \.user)
        let users = byUser.keys.sorted()
        let marks = users.flatMap { user -> [any ScriptArgument] in
            let own = byUser[user]!
            return [user, own.map(\.delivered).max()!, own.map(\.read).max()!, own.last!.hidden.argument]
        }
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(
            .mark, in: keys, ["conversation": keys.conversation(id)], ["conversation": id], each: marks)
        shard.run(call) { [self] result in
            if result.failure?.isLasting == true { shard.recordDamage("conversation", of: id) }
            let words = (try? result.get())?.array ?? []
            let isOfEach = words.count == users.count + 2
            for (place, user) in users.enumerated() {
                // The reply for this user; if the script has no such replies, the one for all.
                let own = isOfEach ? .success(.array(Self.words(words[place + 1]))) : result
                if isOfEach { talks.charge(user, words[words.count - 1], for: Conversations.markedMembers) }
                byUser[user]!.forEach { $0.done(own) }
            }
        }
    }
}
