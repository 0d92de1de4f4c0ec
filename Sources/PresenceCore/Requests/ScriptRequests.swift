import PresenceProtocol
import Redis
import Tokens

/// Changes that clients ask for.
extension ShardLogic {
    /// Runs one script for a request and answers it: `succeeded` gets the words of an `OK`. `changes`: whether the script
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
                    // As its event does, which is still to come. An error would have clients drop what they keep to repeat.
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

    /// The same for what has no connection, such as a call over HTTP.
    func write(
        changes: Bool, run: (@escaping StoreReply) -> Void, refused: @escaping (WriteRefusal) -> Void,
        succeeded: @escaping (RedisValue) -> Void
    ) {
        if let refusal = refusalOfWrites() { return refused(refusal) }
        run { [self] result in settle(result, changes: changes, refused: refused, succeeded: succeeded) }
    }

    /// The same where a script says more than `OK` and what is refused everywhere alike: `answered` gets all that it replied
    /// but `FENCED` and `REVOKED`.
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

    /// Why no script is run now; `nil` if one may be.
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

/// Why a script's change was not made, or may not have been, as clients and backends are told.
struct WriteRefusal {
    package let code: ErrorCode
    package let text: String
    package let retryAfter: Milliseconds?
    /// Whether it may have been made all the same.
    package let outcomeUnknown: Bool
    /// Nothing comes of this session any more.
    private(set) var endsSession = false
    /// Redis is out of reach, and nothing was changed.
    private(set) var isOutOfReach = false

    /// `nil` for a reply of one of the script's own words, `FENCED` aside.
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
        // What Redis says for a moment; anything else that it says is a fault of ours.
        if failure.isLasting {
            // A script that fails leaves what it had done by then.
            self.init(
                code: .internal, text: "the server could not do this", retryAfter: nil,
                outcomeUnknown: outcomeUnknown)
            return
        }
        if case .server(let code, _) = failure {
            // Redis says these before it runs anything.
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
    /// What is held of a user is nothing that a server wrote.
    package static func damagedRecord(_ id: Int64? = nil) -> Self {
        .init(id: id, code: .internal, message: "the store holds something of this user that cannot be read")
    }

    package func with(id: Int64?) -> Self {
        var copy = self
        copy.id = id
        return copy
    }
}
