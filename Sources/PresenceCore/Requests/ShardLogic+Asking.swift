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
    package func run(_ call: ScriptCall, changes: Bool = true, about id: Identifier? = nil) async throws(Refusal) -> ScriptReply {
        if let refusal = refusalOfWrites() { throw Refusal(refusal) }
        let result = await result(of: call)
        if let refusal = WriteRefusal(result, changes: changes, known: call.script.header?.replies ?? []) {
            if refusal.code == .internal { logInternalError(result, session: call.session) }
            if let id, case .failure(let failure) = result, failure.isLasting { noteDamage("conversation", of: id) }
            throw Refusal(refusal)
        }
        return ScriptReply(try! result.get())
    }

    /// Asks Redis a plain command for a request, which changes nothing.
    package func ask(_ words: String...) async throws(Refusal) -> RedisValue {
        if let refusal = refusalOfWrites() { throw Refusal(refusal) }
        do throws(RedisFailure) {
            return try await command(words)
        } catch {
            let refusal = WriteRefusal(error, changes: false)
            if refusal.code == .internal { logInternalError(.failure(error)) }
            throw Refusal(refusal)
        }
    }

    // MARK: For the server itself

    /// Runs a script, whatever waits for Redis, and returns what it replies.
    package func reply(to call: ScriptCall) async throws(RedisFailure) -> ScriptReply {
        ScriptReply(try await result(of: call).get())
    }

    /// Runs a plain command, whatever waits for Redis.
    package func command(_ words: [String]) async throws(RedisFailure) -> RedisValue {
        try await tasks.wait { store.command(words, lane: .commands, reply: $0) }.get()
    }

    /// Runs a script; `reply` gets what it replies, or why it was not run.
    package func run(_ call: ScriptCall, lane: StoreLane = .commands, reply: @escaping StoreReply) {
        store.run(
            call.script, keys: call.keys, arguments: call.arguments(of: link.incarnation), lane: lane, reply: reply)
    }

    private func result(of call: ScriptCall) async -> Result<RedisValue, RedisFailure> {
        let result = await tasks.wait { run(call, reply: $0) }
        link.noticeFencing(in: result)
        return result
    }
}
