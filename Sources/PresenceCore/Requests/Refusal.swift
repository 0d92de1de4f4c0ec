import PresenceProtocol
import Redis
import WebSockets
import Workers

/// Why a request was not carried out, or may not have been: the error for clients and backends, on a socket and over
/// HTTP alike.
package struct Refusal: Error {
    package var message: ServerMessage.ErrorMessage
    /// The HTTP status if it is not that of the code.
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
        retryAfter: Milliseconds? = nil
    ) {
        self.init(
            .init(code: code, message: text, field: field, reason: reason, retryAfter: retryAfter), status: status)
    }

    /// A failure of Redis.
    ///
    /// - Parameter changes: Whether something may have been changed.
    package init(_ failure: RedisFailure, changes: Bool) {
        self.init(WriteRefusal(failure, changes: changes))
    }

    init(_ refusal: WriteRefusal) {
        self.init(refusal.message(id: nil))
        endsSession = refusal.endsSession
        isOutOfReach = refusal.isOutOfReach
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

    /// The same for a multi-step change in progress when a read failed: its client repeats it, as after an unknown outcome.
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
        // Concerns the caller's token, unless there is a status.
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
        throw Word(rawValue: word)?.refusal ?? Refusal(.unreadable(changes: true))
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
