import PresenceProtocol
import Redis

/// What features ask Redis in async functions (`ShardTasks`). Those of requests throw what their client is told.
extension ShardLogic {
    // MARK: For a request

    /// Runs a script for a request.
    ///
    /// - Parameters:
    ///   - changes: Whether the script changes anything: if not, the outcome is never unknown.
    ///   - id: A conversation whose record is damaged if Redis cannot run the script at all.
    /// - Returns: The reply, whose word is none of `FENCED`, `REVOKED` and `ENDED`.
    /// - Throws: What a client is told everywhere alike when Redis cannot, or its token or session is not good any more.
    package func run(
        _ call: ScriptCall, changes: Bool = true, about id: Identifier? = nil
    ) async throws(Refusal) -> ScriptReply {
        try admitWrites()
        let result = await result { run(call, reply: $0) }
        try check(
            result, changes: changes, known: call.script.header?.replies ?? [], session: call.session, about: id)
        return ScriptReply(try! result.get())
    }

    /// Asks Redis a plain command for a request.
    ///
    /// - Parameter id: A conversation whose record is damaged if Redis cannot answer.
    package func ask(
        _ words: String..., changes: Bool = false, about id: Identifier? = nil
    ) async throws(Refusal) -> RedisValue {
        try admitWrites()
        let result = await result { store.command(words, lane: .commands, reply: $0) }
        if case .success(let value) = result { return value }
        try check(result, changes: changes, about: id)
        return .null
    }

    /// Carries out what a request wishes (``Intents/begin(_:first:of:reply:)``), and returns what the steps say.
    package func carryOut(
        _ intent: Intent, first: IntentStep, of user: UserID? = nil
    ) async throws(Refusal) -> ScriptReply {
        try await reply { intents.begin(intent, first: first, of: user, reply: $0) }
    }

    /// What `run` says, which runs scripts for a request.
    package func reply(
        changes: Bool = true, from run: (@escaping StoreReply) -> Void
    ) async throws(Refusal) -> ScriptReply {
        try admitWrites()
        let result = await result(from: run)
        try check(result, changes: changes)
        return ScriptReply(try! result.get())
    }

    /// - Throws: If no request may ask Redis now.
    package func admitWrites() throws(Refusal) {
        if let refusal = refusalOfWrites() { throw refusal }
    }

    /// - Parameters:
    ///   - words: What the script may reply; `[]`: anything.
    ///   - id: A conversation whose record is damaged if Redis cannot run the script at all.
    /// - Throws: What a client is told everywhere alike.
    func check(
        _ result: Result<RedisValue, RedisFailure>, changes: Bool, known words: [String] = [],
        session: String? = nil, about id: Identifier? = nil
    ) throws(Refusal) {
        link.noticeFencing(in: result)
        guard let refusal = Refusal(result, changes: changes, known: words) else { return }
        if refusal.message.code == .internal { logInternalError(result, session: session) }
        if let id, case .failure(let failure) = result, failure.isLasting { noteDamage("conversation", of: id) }
        throw refusal
    }

    // MARK: For the server itself

    /// Runs a script, whatever waits for Redis, and returns what it replies.
    package func reply(to call: ScriptCall) async throws(RedisFailure) -> ScriptReply {
        let result = await result { run(call, reply: $0) }
        link.noticeFencing(in: result)
        return ScriptReply(try result.get())
    }

    /// Runs a plain command, whatever waits for Redis.
    package func command(_ words: [String]) async throws(RedisFailure) -> RedisValue {
        try await result { store.command(words, lane: .commands, reply: $0) }.get()
    }

    /// Runs a script; `reply` gets what it replies, or why it was not run.
    package func run(_ call: ScriptCall, lane: StoreLane = .commands, reply: @escaping StoreReply) {
        store.run(
            call.script, keys: call.keys, arguments: call.arguments(of: link.incarnation), lane: lane, reply: reply)
    }

    private func result(from ask: (@escaping StoreReply) -> Void) async -> Result<RedisValue, RedisFailure> {
        await tasks.wait(for: ask)
    }
}
