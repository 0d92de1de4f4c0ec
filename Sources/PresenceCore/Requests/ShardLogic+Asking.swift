import PresenceProtocol
import Redis

/// Features' calls of Redis in async functions (`ShardTasks`). Those for requests throw the error for the client.
extension ShardLogic {
    // MARK: For a request

    /// Runs a script for a request.
    ///
    /// - Parameters:
    ///   - changes: Whether the script changes anything: if not, the outcome is never unknown.
    ///   - id: The conversation whose record is damaged if Redis cannot run the script at all.
    /// - Returns: The reply, whose word is not `FENCED`, `BANNED`, `REVOKED` or `ENDED`.
    /// - Throws: The common error for clients if Redis fails, or if their token or session is no longer valid.
    package func run(
        _ call: ScriptCall, changes: Bool = true, about id: Identifier? = nil
    ) async throws(Refusal) -> ScriptReply {
        let result = try await admitted { run(call, reply: $0) }
        try check(
            result, changes: changes, known: call.script.header?.replies ?? [], session: call.session, about: id)
        return ScriptReply(try! result.get())
    }

    /// Runs a plain command for a request.
    ///
    /// - Parameter id: The conversation whose record is damaged if Redis cannot execute the command.
    package func run(
        _ words: String..., changes: Bool = false, about id: Identifier? = nil
    ) async throws(Refusal) -> RedisValue {
        let result = try await admitted { store.command(words, lane: .commands, reply: $0) }
        if case .success(let value) = result { return value }
        try check(result, changes: changes, about: id)
        return .null
    }

    /// Carries out a request's intent (``Intents/begin(_:of:_:reply:)``), and returns its result.
    package func carryOut(
        _ intent: Intent, of user: UserID? = nil, _ executor: @escaping IntentExecutor
    ) async throws(Refusal) -> ScriptReply {
        try await reply { intents.begin(intent, of: user, executor, reply: $0) }
    }

    /// The checked reply of a script that `run` runs for a request.
    package func reply(
        changes: Bool = true, from run: (@escaping StoreReply) -> Void
    ) async throws(Refusal) -> ScriptReply {
        let result = try await admitted(run)
        try check(result, changes: changes)
        return ScriptReply(try! result.get())
    }

    /// - Throws: If no request may use Redis now.
    package func admitWrites() throws(Refusal) {
        if let refusal = refusalOfWrites() { throw refusal }
    }

    /// Returns Redis' reply to `ask`, unless no request may use Redis now. This is decided in the step that asks, so
    /// requests that begin together cannot exceed the limit.
    private func admitted(
        _ ask: (@escaping StoreReply) -> Void
    ) async throws(Refusal) -> Result<RedisValue, RedisFailure> {
        var refusal: Refusal?
        let result = await result { reply in
            refusal = refusalOfWrites()
            if refusal == nil { ask(reply) } else { reply(.failure(.overloaded)) }
        }
        if let refusal { throw refusal }
        return result
    }

    /// - Parameters:
    ///   - words: The possible replies of the script; `[]` for any.
    ///   - id: The conversation whose record is damaged if Redis cannot run the script at all.
    /// - Throws: The error for the client that is the same for all scripts.
    func check(
        _ result: Result<RedisValue, RedisFailure>, changes: Bool, known words: [String] = [],
        session: String? = nil, about id: Identifier? = nil
    ) throws(Refusal) {
        link.noticeFencing(in: result)
        guard let refusal = Refusal(result, changes: changes, known: words) else { return }
        if refusal.message.code == .internal { logInternalError(result, session: session) }
        if let id, case .failure(let failure) = result, failure.isLasting { recordDamage("conversation", of: id) }
        throw refusal
    }

    // MARK: For the server itself

    /// Runs a script, regardless of how much waits for Redis, and returns its reply.
    ///
    /// - Throws: The failure of Redis, or one if this shard may no longer write.
    package func reply(to call: ScriptCall) async throws(RedisFailure) -> ScriptReply {
        let result = await result { run(call, reply: $0) }
        link.noticeFencing(in: result)
        let reply = ScriptReply(try result.get())
        guard reply.word != "FENCED" else { throw .disconnected(sent: false) }
        return reply
    }

    /// Runs a plain command, regardless of how much waits for Redis.
    package func command(_ words: [String]) async throws(RedisFailure) -> RedisValue {
        try await result { store.command(words, lane: .commands, reply: $0) }.get()
    }

    /// Runs a script; `reply` gets its reply, or why it was not run.
    package func run(_ call: ScriptCall, lane: StoreLane = .commands, reply: @escaping StoreReply) {
        store.run(
            call.script, keys: call.keys, arguments: call.arguments(of: link.incarnation), lane: lane, reply: reply)
    }

    private func result(from ask: (@escaping StoreReply) -> Void) async -> Result<RedisValue, RedisFailure> {
        await tasks.wait(for: ask)
    }
}
