import PresenceProtocol
import Redis

/// Features' calls of Redis in async functions (`ShardTasks`). Those for requests throw the error for the client.
extension ShardLogic {
    // MARK: For a request

    /// Runs a script for a request.
    ///
    /// - Parameters:
    ///   - changes: Whether the script changes anything: if not, the outcome is never unknown.
    ///   - id: A conversation whose record is damaged if Redis cannot run the script at all.
    /// - Returns: The reply, whose word is not `FENCED`, `REVOKED` or `ENDED`.
    /// - Throws: The common error for clients if Redis fails, or if their token or session is no longer valid.
    package func run(
        _ call: ScriptCall, changes: Bool = true, about id: Identifier? = nil
    ) async throws(Refusal) -> ScriptReply {
        let result = try await result(from: { run(call, reply: $0) })
        if let refusal = WriteRefusal(result, changes: changes, known: call.script.header?.replies ?? []) {
            throw noted(refusal, result, session: call.session, about: id)
        }
        return ScriptReply(try! result.get())
    }

    /// Runs a plain command for a request.
    ///
    /// - Parameter id: A conversation whose record is damaged if Redis cannot execute the command.
    package func ask(
        _ words: String..., changes: Bool = false, about id: Identifier? = nil
    ) async throws(Refusal) -> RedisValue {
        let result = try await result(from: { store.command(words, lane: .commands, reply: $0) })
        if case .success(let value) = result { return value }
        throw noted(WriteRefusal(result, changes: changes)!, result, about: id)
    }

    /// Carries out a request's intent (``Intents/begin(_:first:of:reply:)``), and returns the steps' result.
    package func carryOut(
        _ intent: Intent, first: IntentStep, of user: UserID? = nil
    ) async throws(Refusal) -> ScriptReply {
        try await reply { intents.begin(intent, first: first, of: user, reply: $0) }
    }

    /// The reply of `run`, which runs scripts for a request.
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

    /// - Throws: If no request may use Redis now.
    package func admitWrites() throws(Refusal) {
        if let refusal = refusalOfWrites() { throw Refusal(refusal) }
    }

    /// Runs `run` unless no request may use Redis now; both in one step.
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

    /// Runs a script, regardless of how much waits for Redis, and returns its reply.
    ///
    /// - Throws: Also if this shard may no longer write.
    package func reply(to call: ScriptCall) async throws(RedisFailure) -> ScriptReply {
        let reply = ScriptReply(try await result(of: call).get())
        guard reply.word != "FENCED" else { throw .disconnected(sent: false) }
        return reply
    }

    /// Runs a plain command, regardless of how much waits for Redis.
    package func command(_ words: [String]) async throws(RedisFailure) -> RedisValue {
        try await result(of: words).get()
    }

    /// Runs a script; `reply` gets its reply, or why it was not run.
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
