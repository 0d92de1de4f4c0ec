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
        let result = try await result(from: { run(call, reply: $0) })
        if let refusal = WriteRefusal(result, changes: changes, known: call.script.header?.replies ?? []) {
            throw noted(refusal, result, session: call.session, about: id)
        }
        return ScriptReply(try! result.get())
    }

    /// Asks Redis a plain command for a request.
    ///
    /// - Parameter id: A conversation whose record is damaged if Redis cannot answer.
    package func ask(
        _ words: String..., changes: Bool = false, about id: Identifier? = nil
    ) async throws(Refusal) -> RedisValue {
        let result = try await result(from: { store.command(words, lane: .commands, reply: $0) })
        if case .success(let value) = result { return value }
        throw noted(WriteRefusal(result, changes: changes)!, result, about: id)
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
        let result = try await result(from: run)
        if case .success(let value) = result {
            let reply = ScriptReply(value)
            if !["FENCED", "REVOKED", "ENDED"].contains(reply.word) { return reply }
        }
        throw noted(WriteRefusal(result, changes: changes)!, result)
    }

    /// - Throws: If no request may ask Redis now.
    package func admitWrites() throws(Refusal) {
        if let refusal = refusalOfWrites() { throw Refusal(refusal) }
    }

    /// What `run` asks, unless no request may ask now: that is judged in the same step.
    private func result(
        from run: (@escaping StoreReply) -> Void
    ) async throws(Refusal) -> Result<RedisValue, RedisFailure> {
        var refusal: WriteRefusal?
        let result: Result<RedisValue, RedisFailure> = await tasks.wait { done in
            refusal = refusalOfWrites()
            if refusal == nil { run(done) } else { done(.failure(.overloaded)) }
        }
        if let refusal { throw Refusal(refusal) }
        link.noticeFencing(in: result)
        return result
    }

    private func noted(
        _ refusal: WriteRefusal, _ result: Result<RedisValue, RedisFailure>, session: String? = nil,
        about id: Identifier? = nil
    ) -> Refusal {
        if refusal.code == .internal { logInternalError(result, session: session) }
        if let id, case .failure(let failure) = result, failure.isLasting { noteDamage("conversation", of: id) }
        return Refusal(refusal)
    }

    // MARK: For the server itself

    /// Runs a script, whatever waits for Redis, and returns its reply.
    ///
    /// - Throws: also if this shard may not write any more.
    package func reply(to call: ScriptCall) async throws(RedisFailure) -> ScriptReply {
        let reply = ScriptReply(try await result(of: call).get())
        guard reply.word != "FENCED" else { throw .disconnected(sent: false) }
        return reply
    }

    /// Runs a plain command, whatever waits for Redis.
    package func command(_ words: [String]) async throws(RedisFailure) -> RedisValue {
        try await result(of: words).get()
    }

    /// Runs a script; `reply` gets what it replies, or why it was not run.
    package func run(_ call: ScriptCall, lane: StoreLane = .commands, reply: @escaping StoreReply) {
        store.run(
            call.script, keys: call.keys, arguments: call.arguments(of: link.incarnation), lane: lane, reply: reply)
    }

    private func result(of words: [String]) async -> Result<RedisValue, RedisFailure> {
        await tasks.wait { store.command(words, lane: .commands, reply: $0) }
    }

    private func result(of call: ScriptCall) async -> Result<RedisValue, RedisFailure> {
        let result = await tasks.wait { run(call, reply: $0) }
        link.noticeFencing(in: result)
        return result
    }
}
