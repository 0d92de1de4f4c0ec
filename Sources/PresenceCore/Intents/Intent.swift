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

/// One script in one partition, and the continuation for its reply.
///
/// The script gets
///
///     KEYS: shards, unfinished, …the step's own
///     ARGV: now, channel, incarnation, intent, …the step's own
///
/// and begins with `fenced(KEYS[1], ARGV[3])`. The script that writes the intent adds it to the set
/// (`SADD KEYS[2] ARGV[4]`), the one that ends it removes it. If a user makes the request, the writing step gets their
/// `Writer.keys` as its last keys; later steps get none, since an intent that was written is completed. Each step may
/// run twice, late, or after the end of the intent. So an intent has a number that only grows in its subject's record,
/// and a step changes something only if the numbers show that it is still current.
package struct IntentStep {
    /// The subject whose record the step uses.
    let subject: Identifier
    let run: (ShardLogic, @escaping StoreReply) -> Void
    let next: (RedisValue) -> IntentProgress
    let skip: (() -> IntentProgress)?

    /// A step with a script that is called by names. If needed, these are the key `unfinished` and the argument
    /// `intent` (``Intent/member``). The other parameters as below.
    ///
    /// - Parameter subject: The subject whose record the step uses.
    package init(
        _ call: ScriptCall, about subject: Identifier, skip: (() -> IntentProgress)? = nil,
        next: @escaping (ScriptReply) -> IntentProgress
    ) {
        self.subject = subject
        self.skip = skip
        run = { $0.run(call, reply: $1) }
        let words = call.script.header?.replies ?? []
        self.next = { value in
            let reply = ScriptReply(value)
            return words.contains(reply.word) ? next(reply) : .damaged
        }
    }

    /// - Parameters:
    ///   - intent: The step runs in the partition of its subject.
    ///   - partition: The partition to use instead, for a thing that is not stored where its name hashes.
    ///   - keys: Keys of that partition.
    ///   - skip: How to continue if the step's record is damaged, for one of many independent steps. A skipped step
    ///     remains written down. `nil`: the whole intent waits until the record is repaired.
    ///   - next: Gets the words of the reply; never those of `FENCED`, `BANNED`, `REVOKED` or `ENDED`.
    package init(
        _ script: Script, _ intent: Intent, partition: Int? = nil, keys: @escaping (PartitionKeys) -> [String],
        arguments: [String] = [], skip: (() -> IntentProgress)? = nil, next: @escaping ([RedisValue]) -> IntentProgress
    ) {
        subject = intent.subject
        self.skip = skip
        self.next = { next($0.array ?? []) }
        run = { shard, reply in
            let partition = partition.map { shard.partitions.keys($0) } ?? shard.partitions.keys(of: intent.subject)
            let keys = keys(partition)
            precondition(
                keys.allSatisfy { $0.hasPrefix(partition.name + ":") },
                "a step of \(intent.kind.name) leaves its partition")
            shard.store.run(
                script, keys: [partition.shards, partition.unfinished] + keys,
                arguments: [partition.events, shard.link.incarnation, intent.member] + arguments, lane: .commands,
                reply: reply)
        }
    }
}

/// The continuation for a reply.
package indirect enum IntentProgress {
    case step(IntentStep)
    /// The change is made: the request gets this reply, and the rest follows.
    case answer(RedisValue, then: IntentStep)
    /// A part is done: the request gets this reply unless it has had one, and the rest begins with this step when its
    /// turn comes (``Intents/mostTurns``). If that never happens, the next executor finds the rest in the record.
    case more(RedisValue, rest: IntentStep)
    /// Nothing is left except for skipped steps. The request gets this reply unless it has had one.
    case end(RedisValue)
    /// This executor cannot continue. The intent remains for the next one.
    case fail(RedisFailure)

    /// The reply of a request without a result.
    package static let ok = RedisValue.array([.status("OK")])

    /// The reply is not one of the script's, or Redis has something that no server wrote.
    package static var damaged: IntentProgress {
        .fail(.server(code: "ERR", message: "a script returned an unexpected reply"))
    }
}
