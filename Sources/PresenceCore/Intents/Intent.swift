import PresenceProtocol
import Redis

/// A change of one subject and kind that spans partitions. A script of one partition cannot make it, so it is written
/// to the subject's record, and any shard can carry out its steps, one partition each.
package struct Intent: Hashable {
    package let kind: IntentKind
    package let subject: Identifier

    package init(_ kind: IntentKind, _ subject: Identifier) {
        self.kind = kind
        self.subject = subject
    }

    /// Its member in the set of unfinished intents of the subject's partition. Neither part contains a space.
    package var member: String { kind.name + " " + subject.string }
}

/// A kind that a feature has registered (`Registry.intents`).
package struct IntentKind: Hashable {
    package let name: String
}

/// Carries out an intent, or the rest of one.
package typealias IntentExecutor = (IntentRun) async throws(RedisFailure) -> IntentEnd

/// How an executor ends.
package enum IntentEnd {
    /// Nothing is left except for skipped steps. The request gets this reply unless it has had one.
    case done(RedisValue)
    /// A part is done: the request gets this reply unless it has had one, and the rest begins when its turn comes
    /// (``Intents/mostTurns``). If that never happens, the next executor finds the rest in the record.
    case more(RedisValue, rest: IntentExecutor)

    /// The reply of a request without a result.
    package static let okReply = RedisValue.array([.status("OK")])
    package static var ok: IntentEnd { .done(okReply) }
}

/// An executor's run of an intent. An executor that throws cannot continue: the intent remains for the next one.
///
/// Each step is one script in one partition. The script that writes the intent adds it to the partition's set
/// (`SADD unfinishedKey intent`), the one that ends it removes it. If a user makes the request, the writing step is called
/// by their `Writer`; later steps are not, since an intent that was written is completed. Each step may run twice, late, or
/// after the end of the intent. So an intent has a number that only grows in its subject's record, and a step changes
/// something only if the numbers show that it is still current.
package final class IntentRun {
    package let intent: Intent
    /// The user whose request waits for it; `nil`: a backend's, or the server's own.
    let user: UserID?
    /// It continues an intent that was written earlier, and no request waits for it.
    let isResumed: Bool
    let executor: IntentExecutor
    private unowned let shard: ShardLogic
    private var reply: StoreReply?
    private var steps = 0
    /// Whether a script has run: then the intent may have been written.
    private var hasBegun = false
    /// The reason for a skipped step.
    private var damage: RedisFailure?
    /// The reply by which the first step refused its writer.
    private var refusal: RedisValue?

    init(
        _ intent: Intent, on shard: ShardLogic, of user: UserID? = nil, isResumed: Bool = false,
        _ executor: @escaping IntentExecutor, reply: @escaping StoreReply
    ) {
        (self.intent, self.shard, self.user, self.isResumed) = (intent, shard, user, isResumed)
        (self.executor, self.reply) = (executor, reply)
    }

    /// Runs a script and returns its reply, which is one of its header and not `FENCED`.
    ///
    /// - Parameter subject: The subject whose record the step uses.
    @discardableResult
    package func step(_ call: ScriptCall, about subject: Identifier) async throws(RedisFailure) -> ScriptReply {
        steps += 1
        guard steps <= Intents.mostSteps else { throw .overloaded }
        let reply = try await shard.reply(to: call)
        // The writer is banned, their token was revoked, or their session has ended: nothing was changed, and no intent
        // was written.
        if ["BANNED", "REVOKED", "ENDED"].contains(reply.word) {
            refusal = reply.value
            throw .disconnected(sent: false)
        }
        hasBegun = true
        shard.intents.steps += 1
        guard call.script.header?.replies.contains(reply.word) == true else { throw .unexpectedReply }
        return reply
    }

    /// The same for one of many independent steps: `nil` if its record is damaged. It remains written down, and the others
    /// do not wait until the record is repaired.
    package func stepOrSkip(_ call: ScriptCall, about subject: Identifier) async throws(RedisFailure) -> ScriptReply? {
        do throws(RedisFailure) {
            return try await step(call, about: subject)
        } catch  where error.isLasting {
            damage = error
            shard.intents.failures += 1
            shard.recordDamage("intent " + intent.kind.name, of: subject)
            return nil
        }
    }

    /// The change is made: the request gets this reply, and the rest follows.
    package func answer(_ value: RedisValue) { answer(.success(value)) }

    private func answer(_ result: Result<RedisValue, RedisFailure>) {
        let reply = reply
        self.reply = nil
        reply?(result)
    }

    /// The executor has ended. A request does not get the failure of a skipped step, which is not part of its question. A
    /// sweep gets it, so that it does not return sooner for an intent that cannot be completed.
    func complete(_ value: RedisValue) {
        answer(isResumed ? damage.map { .failure($0) } ?? .success(value) : .success(value))
    }

    func fail(_ failure: RedisFailure) {
        if let refusal { return complete(refusal) }
        shard.intents.failures += 1
        if failure.isLasting { shard.recordDamage("intent " + intent.kind.name, of: intent.subject) }
        // After a temporary rejection the intent may be half done, and will be completed.
        answer(.failure(hasBegun && !failure.isLasting ? .disconnected(sent: true) : failure))
    }
}

extension RedisFailure {
    /// The reply is not one of the script's, or Redis has something that no server wrote.
    package static var unexpectedReply: RedisFailure {
        .server(code: "ERR", message: "a script returned an unexpected reply")
    }
}
