import PresenceProtocol
import Redis
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
        retryAfter: Milliseconds? = nil
    ) {
        self.init(
            .init(code: code, message: text, field: field, reason: reason, retryAfter: retryAfter), status: status)
    }

    /// Redis could not.
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
        throw Word(rawValue: word)?.refusal ?? Refusal(.unreadable(changes: true))
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
