import PresenceProtocol
import Redis

/// Changes that clients ask for.
extension ShardLogic {
    /// Runs one script for a request in the same step, and answers it: `succeeded` gets the words of an `OK`.
    ///
    /// - Parameters:
    ///   - changes: Whether the script changes anything.
    ///   - refusing: The refusal that a word of the feature's own stands for.
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

    /// Why no script is run now; `nil` if one may be.
    func refusalOfWrites() -> Refusal? {
        guard link.isLive else { return Refusal(.disconnected(sent: false)) }
        return isStoreFull() ? Refusal(.overloaded) : nil
    }

    /// So much waits for Redis that a request is refused before it is given anything more; the limit is counted.
    package func isStoreFull() -> Bool {
        guard store.isFull else { return false }
        metrics.met(.redisBytes)
        return true
    }

    /// Redis' own words, which name no key and no value; of an answer that makes no sense nothing, since it may hold
    /// anything.
    func logInternalError(_ result: Result<RedisValue, RedisFailure>, session: String? = nil) {
        var fields = ["reason": "an answer that no script gives"]
        if case .failure(let failure) = result { fields["reason"] = "\(failure)" }
        fields["session"] = session
        logSparsely("internal error", fields, level: .error)
    }
}
