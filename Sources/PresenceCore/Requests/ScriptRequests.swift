import PresenceProtocol
import Redis
import Tokens

/// Changes that clients request.
extension ShardLogic {
    /// Runs a script for a request and replies: `succeeded` gets the words of an `OK`. `changes`: whether the script
    /// changes anything.
    package func write(
        _ connection: Connection, _ id: Int64?, changes: Bool = true, hurry: (() -> Void)? = nil,
        run: (@escaping StoreReply) -> Void, succeeded: @escaping ([RedisValue]) -> Void
    ) {
        if let refusal = refusalOfWrites() { return refuse(refusal.message(id: id), on: connection) }
        let reply = replies.expect(on: connection, hurry: hurry)
        run { [self] result in
            replies.fulfil(reply, on: connection) { [self] in
                guard !connection.isClosed else { return }
                settle(result, changes: changes, session: connection.session) { refusal in
                    // Like the event, which is still to come. After an error, clients would drop requests that they
                    // keep for repetition.
                    if refusal.code == .unauthorized, let session = connection.session {
                        return sessions.revoke(session)
                    }
                    replies.error(refusal.message(id: id), to: connection)
                } succeeded: { value in
                    succeeded(value.array ?? [])
                }
            }
        }
    }

    /// The same without a connection, such as for an HTTP call.
    func write(
        changes: Bool, run: (@escaping StoreReply) -> Void, refused: @escaping (WriteRefusal) -> Void,
        succeeded: @escaping (RedisValue) -> Void
    ) {
        if let refusal = refusalOfWrites() { return refused(refusal) }
        run { [self] result in settle(result, changes: changes, refused: refused, succeeded: succeeded) }
    }

    /// The same for a script with further replies: `answered` gets every reply except `FENCED` and `REVOKED`.
    func ask(
        changes: Bool, run: (@escaping StoreReply) -> Void, refused: @escaping (WriteRefusal) -> Void,
        answered: @escaping (RedisValue) -> Void
    ) {
        if let refusal = refusalOfWrites() { return refused(refusal) }
        run { [self] result in
            if case .success(let value) = result, !["FENCED", "REVOKED"].contains(value.array?.first?.string) {
                return answered(value)
            }
            settle(result, changes: changes, refused: refused) { _ in }
        }
    }

    /// Why no script may run now; `nil` if one may.
    func refusalOfWrites() -> WriteRefusal? {
        guard link.isLive else { return WriteRefusal(.disconnected(sent: false)) }
        return isStoreFull() ? WriteRefusal(.overloaded) : nil
    }

    private func settle(
        _ result: Result<RedisValue, RedisFailure>, changes: Bool, session: Session? = nil,
        refused: (WriteRefusal) -> Void, succeeded: (RedisValue) -> Void
    ) {
        link.noticeFencing(in: result)
        if let session, case .success(let value) = result, value.array?.first?.string == "ENDED" {
            sessions.isMissing(session)
        }
        if let refusal = WriteRefusal(result, changes: changes) {
            if refusal.code == .internal { logInternalError(result, session: session?.id) }
            refused(refusal)
        } else if case .success(let value) = result {
            succeeded(value)
        }
    }

    /// Whether so much waits for Redis that a request is rejected before anything is sent; if so, this is counted as a
    /// limit that was met.
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

/// Why a script's change was not made, or may not have been: the error for clients and backends.
struct WriteRefusal {
    package let code: ErrorCode
    package let text: String
    package let retryAfter: Milliseconds?
    /// Whether it may have been made nevertheless.
    package let outcomeUnknown: Bool
    /// The session has ended.
    private(set) var endsSession = false
    /// Redis is unreachable, and nothing was changed.
    private(set) var isOutOfReach = false

    /// `nil` for a reply of one of the script's own words, except `FENCED`.
    init?(_ result: Result<RedisValue, RedisFailure>, changes: Bool, known words: [String]) {
        if case .success(let value) = result {
            let word = value.array?.first?.string ?? ""
            if words.isEmpty || word != "FENCED" && words.contains(word) { return nil }
            guard ["FENCED", "REVOKED", "ENDED"].contains(word) else {
                self = .unreadable(changes: changes)
                return
            }
        }
        self.init(result, changes: changes)
    }

    /// `nil` for an `OK`. `changes`: whether the script changes anything.
    init?(_ result: Result<RedisValue, RedisFailure>, changes: Bool = true) {
        switch result {
        case .failure(let failure): self.init(failure, changes: changes)
        case .success(let value):
            switch value.array?.first?.string {
            case "OK": return nil
            case "FENCED": self.init(.disconnected(sent: false))
            case "REVOKED": self.init(code: .unauthorized, text: "\(AuthenticationFailure.revoked)", retryAfter: nil)
            case "ENDED":
                self.init(code: .unavailable, text: "this session has ended: nothing was changed", retryAfter: 1_000)
                endsSession = true
            case "FORBIDDEN": self.init(code: .forbidden, text: "only participants may do this", retryAfter: nil)
            case "TOOMANY":
                self.init(code: .tooMany, text: "no more conversations may be made by this user", retryAfter: nil)
            case "FULL": self.init(code: .tooMany, text: "no more users may be in this list", retryAfter: nil)
            case "CONFLICT": self.init(code: .conflict, text: "it exists already", retryAfter: nil)
            default: self = .unreadable(changes: changes)
            }
        }
    }

    static func unreadable(changes: Bool) -> WriteRefusal {
        WriteRefusal(
            code: .internal, text: "the store gave an answer that makes no sense", retryAfter: nil,
            outcomeUnknown: changes)
    }

    init(_ failure: RedisFailure, changes: Bool = true) {
        let outcomeUnknown = changes && failure.mayHaveRun
        // Any error of Redis that is not temporary is a mistake in this program.
        if failure.isLasting {
            // A script that fails does not undo its earlier writes.
            self.init(
                code: .internal, text: "the server could not do this", retryAfter: nil,
                outcomeUnknown: outcomeUnknown)
            return
        }
        if case .server(let code, _) = failure {
            // Redis returns these errors before it runs anything.
            let text = code == "OOM" ? "the store is full" : "the store refused this for now"
            self.init(code: .unavailable, text: text + ": nothing was changed", retryAfter: 1_000)
        } else if case .overloaded = failure {
            self.init(
                code: .unavailable, text: "too much waits for the store: nothing was changed", retryAfter: 1_000)
        } else {
            let text =
                outcomeUnknown
                ? "the store was lost while this was under way: whether it was changed is unknown"
                : "the store is out of reach: nothing was changed"
            self.init(code: .unavailable, text: text, retryAfter: 1_000, outcomeUnknown: outcomeUnknown)
            isOutOfReach = !outcomeUnknown
        }
    }

    private init(code: ErrorCode, text: String, retryAfter: Milliseconds?, outcomeUnknown: Bool = false) {
        self.code = code
        self.text = text
        self.retryAfter = retryAfter
        self.outcomeUnknown = outcomeUnknown
    }

    package func message(id: Int64?) -> ServerMessage.ErrorMessage {
        .init(id: id, code: code, message: text, retryAfter: retryAfter, outcomeUnknown: outcomeUnknown)
    }
}

extension ServerMessage.ErrorMessage {
    /// The user's record has something that no server wrote.
    package static func damagedRecord(_ id: Int64? = nil) -> Self {
        .init(id: id, code: .internal, message: "the store holds something of this user that cannot be read")
    }

    package func with(id: Int64?) -> Self {
        var copy = self
        copy.id = id
        return copy
    }
}
