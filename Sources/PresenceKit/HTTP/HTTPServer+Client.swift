import Foundation

// HTTP requests as the user of a client.
extension HTTPServer {
    /// Sends a request, and repeats it once with a new token if its token is rejected.
    ///
    /// - Returns: the response, and the token that was accepted.
    /// - Throws: `PresenceError`, or `CancellationError`.
    package func send(
        _ request: Request, as user: RequestUser, with token: String,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> (response: HTTPResponse, token: String) {
        do {
            do {
                return (try await send(request, token: token, progress: progress), token)
            } catch Failure.refused(let refusal) where refusal.status == 401 {
                let other = try await user.token(insteadOf: token)
                guard other != token else { throw Failure.refused(refusal) }
                return (try await send(request, token: other, progress: progress), other)
            }
        } catch let failure as Failure {
            throw PresenceError(failure)
        }
    }
}

/// The user who makes HTTP requests.
package struct RequestUser: Sendable {
    let client: PresenceClient
    /// `nil` if only the token names the user.
    package let id: String?
    package let number: UserNumber

    package init(client: PresenceClient, id: String?, number: UserNumber) {
        (self.client, self.id, self.number) = (client, id, number)
    }

    /// Returns a token, and checks that it is this user's if it names its user.
    ///
    /// - Throws: `PresenceError`, `signedOut` for another user's; `CancellationError`.
    package func token(insteadOf refused: String? = nil) async throws -> String {
        let token: String
        do throws(PresenceError) {
            token = try await client.token(of: number, insteadOf: refused)
        } catch {
            throw error.thrown
        }
        try Task.checkCancellation()
        if let id, let named = PresenceClient.user(of: token), !named.utf8.elementsEqual(id.utf8) {
            throw PresenceError.signedOut
        }
        return token
    }
}

extension PresenceError {
    /// Converts the error of a request. `outcomeUnknown` is never set, because repeating these requests is harmless.
    fileprivate init(_ failure: HTTPServer.Failure) {
        switch failure {
        case .unanswered(let failure) where failure.isOfFile: self.init(.storageFailed, failure.message)
        case .unanswered(let failure):
            self.init(failure.wasSent ? .connectionLost : .notConnected, "no answer: \(failure.message)")
        case .refused(let refusal):
            let isNoImage = refusal.reason == "attachment_not_an_image"
            self.init(
                Self.code(of: refusal), refusal.message, reason: refusal.reason.map(Reason.init(rawValue:)),
                field: isNoImage ? "file" : refusal.field, retryAfter: refusal.retryAfter, until: refusal.until)
        }
    }

    private static func code(of refusal: HTTPRefusal) -> Code {
        switch (refusal.status, refusal.code) {
        // The server has no such path.
        case (404, _): .notOffered
        // Proxies return this without a code.
        case (413, _): .tooLarge
        case (_, let code?): Code(rawValue: code)
        case (429, nil), (500..., nil): .unavailable
        case (_, nil): .protocolViolation
        }
    }
}
