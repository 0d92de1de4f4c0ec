import PresenceProtocol
import Redis

/// A change that spans partitions, of one subject and kind. A script of one partition cannot make it; so it is written
/// down in the subject's record, and its steps are carried out by any shard, one partition each.
package struct Intent: Hashable {
    package let kind: IntentKind
    package let subject: Identifier

    package init(_ kind: IntentKind, _ subject: Identifier) {
        self.kind = kind
        self.subject = subject
    }

    /// As the set of unfinished intents of the subject's partition names it. Neither part holds a space.
    package var member: String { kind.name + " " + subject.string }
}

/// What a feature has registered: `Registry.intents`.
package struct IntentKind: Hashable {
    package let name: String
}

/// One script over one partition, and what follows from its answer.
///
/// The script gets
///
///     KEYS: shards, unfinished, …the step's own
///     ARGV: now, channel, incarnation, intent, …the step's own
///
/// and begins with `fenced(KEYS[1], ARGV[3])`. The script that writes an intent down adds it (`SADD KEYS[2] ARGV[4]`), the
/// one that ends it removes it. Where a user wishes it, the step that writes it down gets their `Writer.keys` as its last keys;
/// the others get none, for what was begun is finished. Each step can come twice, late, or after the intent is over: so an intent has a number that
/// only grows in its subject's record, and a step changes something only if the numbers say that it is still meant.
package struct IntentStep {
    /// In whose record it is.
    let subject: Identifier
    let run: (ShardLogic, @escaping StoreReply) -> Void
    let next: (RedisValue) -> IntentProgress
    let skip: (() -> IntentProgress)?

    /// A step of a script that is called by names. Where it needs them, these are the key `unfinished` and the argument `intent`
    /// (``Intent/member``). The other parameters as below.
    ///
    /// - Parameter subject: In whose record it is.
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
    ///   - intent: In whose subject's partition it runs.
    ///   - partition: Where it runs instead: for a thing that is not kept where its name hashes.
    ///   - keys: Of that partition.
    ///   - skip: Where to go on if the record is damaged that the step is about, for one of many steps that do not need each
    ///     other. What is skipped stays written down. `nil`: the whole intent waits until the record is mended.
    ///   - next: Gets the words of the answer; never those of a `FENCED`, `REVOKED` or `ENDED`.
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

/// What an answer leads to.
package indirect enum IntentProgress {
    case step(IntentStep)
    /// The change is made: the request is answered with this, and the rest follows.
    case answer(RedisValue, then: IntentStep)
    /// A part is done: the request gets this, if it has no answer yet, and the rest begins with this step when it is its turn
    /// (``Intents/mostTurns``). If that never comes, the next executor finds in the record what is left.
    case more(RedisValue, rest: IntentStep)
    /// Nothing is left to do, but for what was skipped. The request gets this, if it has no answer yet.
    case end(RedisValue)
    /// This executor cannot go on. What is written down stays for the next one.
    case fail(RedisFailure)

    /// What a request gets of which there is nothing to say.
    package static let ok = RedisValue.array([.status("OK")])

    /// No script gives such an answer, or what Redis holds was written by no server.
    package static var damaged: IntentProgress {
        .fail(.server(code: "ERR", message: "an intent's step gave an answer that makes no sense"))
    }
}
