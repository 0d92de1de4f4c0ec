import PresenceProtocol
import Redis
import Tokens
import WebSockets
import Workers

/// Why a request was not carried out, or may not have been: the error for clients and backends, on a socket and over
/// HTTP alike.
package struct Refusal: Error {
    package var message: ServerMessage.ErrorMessage
    /// The HTTP status, if it is not the one that belongs to the code.
    package var status: Int?
    /// The connection of the request has closed: there is no reply.
    var isUnheard = false
    /// Too many jobs wait for a pool's threads.
    private var isOfWork = false
    /// Redis is unreachable, and nothing was changed.
    private var isOutOfReach = false
    /// The session of the request has ended, or its device's next connection has replaced it.
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

    /// A failure of Redis.
    ///
    /// - Parameter changes: Whether something may have been changed.
    package init(_ failure: RedisFailure, changes: Bool = true) {
        let outcomeUnknown = changes && failure.mayHaveRun
        // Any error of Redis that is not temporary is a mistake in this program.
        if failure.isLasting {
            // A script that fails does not undo its earlier writes.
            self.init(.internal, "the server could not do this", outcomeUnknown: outcomeUnknown)
        } else if case .server(let code, _) = failure {
            // Redis returns these errors before it runs anything.
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

    /// A failure of Redis, or a script's reply with one of the words by which all scripts reject a request.
    ///
    /// - Parameters:
    ///   - changes: Whether the script changes anything.
    ///   - words: All other words of the script; `[]` for any.
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
        if word != "FENCED", word != "BANNED", words.contains(word) { return nil }
        switch word {
        case "FENCED": self.init(.disconnected(sent: false))
        case "BANNED":
            let words = value.array ?? []
            guard words.count > 2, let ban = Ban(words[1].string, words[2].string) else {
                self = .unreadable(changes: changes)
                return
            }
            self = ban.refusal
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

    /// An error thrown by a feature's function.
    init(thrown error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let failure as DecodingFailure: self.init(failure)
        default: self.init(.internal, "the server could not do this")
        }
    }

    /// The refusal for a multi-step change in progress when a read failed: the client repeats it, as after an unknown outcome.
    package var ofChange: Refusal {
        isOutOfReach ? Refusal(.disconnected(sent: true), changes: true) : self
    }

    static var unheard: Refusal {
        var refusal = Refusal(.unavailable, "the connection is closed")
        refusal.isUnheard = true
        return refusal
    }

    /// The response to an HTTP call.
    package var response: HTTPResponse {
        // A refused token is the caller's, unless the refusal has a status of its own.
        guard message.code != .unauthorized || status != nil else { return HTTPAPI.unauthorized(message.message) }
        let status = status ?? HTTPAPI.status(of: message.code)
        var response = HTTPResponse.error(status, message)
        if status == 429 || isOfWork, let wait = message.retryAfter {
            response.headers.append(("Retry-After", String((wait + 999) / 1_000)))
        }
        return response
    }
}

/// The words by which a feature's scripts reject a request, with the error for the client.
package protocol RefusalWord: RawRepresentable<String> {
    var refusal: Refusal { get }
}

extension ScriptReply {
    /// - Throws: The refusal for any other word than `OK`.
    package func accepted<Word: RefusalWord>(or words: Word.Type) throws(Refusal) -> ScriptReply {
        if word == "OK" { return self }
        // A word in the header that the feature does not handle is a mistake in this program.
        throw Word(rawValue: word)?.refusal ?? .unreadable(changes: true)
    }
}

extension Result where Failure == RedisFailure {
    /// The result of a read.
    ///
    /// - Throws: The error for the client if Redis failed.
    package func answered() throws(Refusal) -> Success {
        switch self {
        case .success(let value): return value
        case .failure(let failure): throw Refusal(failure, changes: false)
        }
    }
}

extension HTTPCall {
    /// Decodes the body.
    package func decoded<Value>(
        _ read: (UnsafeRawBufferPointer) throws(DecodingFailure) -> Value
    ) throws(Refusal) -> Value {
        do throws(DecodingFailure) { return try body.lend(read) } catch { throw Refusal(error) }
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
