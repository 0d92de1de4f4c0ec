import PresenceProtocol
import Redis

/// Changes that clients request.
extension ShardLogic {
    /// Runs a script for a request at once, and replies: `succeeded` gets the words of an `OK`.
    ///
    /// - Parameters:
    ///   - changes: Whether the script changes anything.
    ///   - refusing: The refusal for one of the feature's own words.
    package func write(
        _ connection: Connection, _ id: Int64?, changes: Bool = true, hurry: (() -> Void)? = nil,
        refusing: @escaping (String) -> Refusal? = { _ in nil }, run: (@escaping StoreReply) -> Void,
        succeeded: @escaping ([RedisValue]) -> Void
    ) {
        if let refusal = refusalOfWrites() { return refuse(refusal.message.with(id: id), on: connection) }
        let reply = replies.expect(on: connection, hurry: hurry)
        run { [self] result in
            replies.fulfil(reply, on: connection) { [self] in
                guard !connection.isClosed else { return }
                do throws(Refusal) {
                    let word = (try? result.get())?.array?.first?.string ?? ""
                    if let refusal = refusing(word) { throw refusal }
                    try check(result, changes: changes, known: ["OK"], session: connection.session?.id)
                    succeeded((try? result.get())?.array ?? [])
                } catch {
                    refuse(error, id, on: connection, of: connection.session)
                }
            }
        }
    }

    /// Why no script may run now; `nil` if scripts may run.
    func refusalOfWrites() -> Refusal? {
        guard link.isLive else { return Refusal(.disconnected(sent: false)) }
        return isStoreFull() ? Refusal(.overloaded) : nil
    }

    /// Whether so much waits for Redis that a request is rejected before anything is sent. If so, the rejection is
    /// counted as a limit that was met.
    package func isStoreFull() -> Bool {
        guard store.isFull else { return false }
        metrics.met(.redisBytes)
        return true
    }

    /// Logs Redis' own text, which contains no key or value. An unexpected reply is not logged, since it may contain
    /// anything.
    func logInternalError(_ result: Result<RedisValue, RedisFailure>, session: String? = nil) {
        var fields = ["reason": "an answer that no script gives"]
        if case .failure(let failure) = result { fields["reason"] = "\(failure)" }
        fields["session"] = session
        logSparsely("internal error", fields, level: .error)
    }
}
