import PresenceProtocol
import Redis
import Tokens
import WebSockets
import Workers

/// Why a request is not carried out, or may not have been, as its client or backend is told: on a socket and over HTTP alike.
package struct Refusal: Error {
    package var message: ServerMessage.ErrorMessage
    /// Over HTTP, where it is not the code's own.
    package var status: Int?
    /// The connection that asked has gone: there is nothing to answer.
    var isUnheard = false
    /// Too many jobs wait for a pool's threads.
    private var isOfWork = false
    /// Redis is out of reach, and nothing was changed.
    private var isOutOfReach = false
    /// The session that asked has ended, or its device's next connection has its place.
    var endsSession = false

    package init(_ message: ServerMessage.ErrorMessage, status: Int? = nil) {
        self.message = message
        self.status = status
    }

    package init(
        _ code: ErrorCode, _ text: String, status: Int? = nil, field: String? = nil, reason: String? = nil,
        retryAfter: Milliseconds? = nil, outcomeUnknown: Bool = false
    ) {
        self.init(
            .init(
                code: code, message: text, field: field, reason: reason, retryAfter: retryAfter,
                outcomeUnknown: outcomeUnknown), status: status)
    }

    /// Redis could not.
    ///
    /// - Parameter changes: Whether something may have been changed.
    package init(_ failure: RedisFailure, changes: Bool = true) {
        let outcomeUnknown = changes && failure.mayHaveRun
        // What Redis says for a moment; anything else that it says is a fault of ours.
        if failure.isLasting {
            // A script that fails leaves what it had done by then.
            self.init(.internal, "the server could not do this", outcomeUnknown: outcomeUnknown)
        } else if case .server(let code, _) = failure {
            // Redis says these before it runs anything.
            let text = code == "OOM" ? "the store is full" : "the store refused this for now"
            self.init(.unavailable, text + ": nothing was changed", retryAfter: 1_000)
        } else if case .overloaded = failure {
            self.init(.unavailable, "too much waits for the store: nothing was changed", retryAfter: 1_000)
        } else {
            let text =
                outcomeUnknown
                ? "the store was lost while this was under way: whether it was changed is unknown"
                : "the store is out of reach: nothing was changed"
            self.init(.unavailable, text, retryAfter: 1_000, outcomeUnknown: outcomeUnknown)
            isOutOfReach = !outcomeUnknown
        }
    }

    /// Redis could not, or a script answered with a word by which all scripts refuse alike.
    ///
    /// - Parameters:
    ///   - changes: Whether the script changes anything.
    ///   - words: All other words of the script; `[]`: any.
    /// - Returns: `nil` for a reply with one of `words`.
    init?(_ result: Result<RedisValue, RedisFailure>, changes: Bool = true, known words: [String] = ["OK"]) {
        let value: RedisValue
        switch result {
        case .failure(let failure):
            self.init(failure, changes: changes)
            return
        case .success(let reply): value = reply
        }
        let word = value.array?.first?.string ?? ""
        if word != "FENCED", words.contains(word) { return nil }
        switch word {
        case "FENCED": self.init(.disconnected(sent: false))
        case "REVOKED": self.init(.unauthorized, "\(AuthenticationFailure.revoked)")
        case "ENDED":
            self.init(.unavailable, "this session has ended: nothing was changed", retryAfter: 1_000)
            endsSession = true
        default:
            if words.isEmpty { return nil }
            self = .unreadable(changes: changes)
        }
    }

    static func unreadable(changes: Bool) -> Refusal {
        Refusal(.internal, "the store gave an answer that makes no sense", outcomeUnknown: changes)
    }

    package init(_ failure: DecodingFailure) { self.init(failure.errorMessage) }

    package init(_ refusal: WorkRefusal) {
        self.init(.init(refusal))
        isOfWork = true
    }

    /// What a feature's function has thrown.
    init(thrown error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let failure as DecodingFailure: self.init(failure)
        default: self.init(.internal, "the server could not do this")
        }
    }

    /// The same of a change under way, whose questions Redis did not answer: its client repeats it, as if its outcome were
    /// unknown.
    package var ofChange: Refusal {
        isOutOfReach ? Refusal(.disconnected(sent: true), changes: true) : self
    }

    static var unheard: Refusal {
        var refusal = Refusal(.unavailable, "the connection is closed")
        refusal.isUnheard = true
        return refusal
    }

    /// As the answer of a call over HTTP.
    package var response: HTTPResponse {
        // Of the caller's token, if no status says otherwise.
        guard message.code != .unauthorized || status != nil else { return HTTPAPI.unauthorized(message.message) }
        let status = status ?? HTTPAPI.status(of: message.code)
        var response = HTTPResponse.error(status, message)
        if status == 429 || isOfWork, let wait = message.retryAfter {
            response.headers.append(("Retry-After", String((wait + 999) / 1_000)))
        }
        return response
    }
}

/// The words by which the scripts of a feature refuse something, and what its client is told.
package protocol RefusalWord: RawRepresentable<String> {
    var refusal: Refusal { get }
}

extension ScriptReply {
    /// - Throws: The refusal that any other word than `OK` stands for.
    package func accepted<Word: RefusalWord>(or words: Word.Type) throws(Refusal) -> ScriptReply {
        if word == "OK" { return self }
        // A word that the header names, and the feature does not know, is a fault of ours.
        throw Word(rawValue: word)?.refusal ?? .unreadable(changes: true)
    }
}

extension Result where Failure == RedisFailure {
    /// What Redis answered to a question.
    ///
    /// - Throws: What a client is told if it did not.
    package func answered() throws(Refusal) -> Success {
        switch self {
        case .success(let value): return value
        case .failure(let failure): throw Refusal(failure, changes: false)
        }
    }
}

extension HTTPCall {
    /// What its body says.
    package func decoded<Value>(
        _ read: (UnsafeRawBufferPointer) throws(DecodingFailure) -> Value
    ) throws(Refusal) -> Value {
        do throws(DecodingFailure) { return try body.lend(read) } catch { throw Refusal(error) }
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
