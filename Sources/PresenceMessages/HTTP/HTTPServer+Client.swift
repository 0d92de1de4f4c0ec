import Foundation
import PresenceHTTP
import PresenceKit

// Requests over HTTP as the user of a client.
extension HTTPServer {
    /// Sends a request, once more if its token is refused.
    ///
    /// - Returns: the answer, and the token that was taken.
    /// - Throws: `PresenceError`, or `CancellationError`.
    func send(
        _ request: Request, of client: PresenceClient, as user: String, with token: String,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> (response: HTTPResponse, token: String) {
        do {
            do {
                return (try await send(request, token: token, progress: progress), token)
            } catch Failure.refused(let refusal) where refusal.status == 401 {
                let other = try await client.token(of: user, insteadOf: token)
                guard other != token else { throw Failure.refused(refusal) }
                return (try await send(request, token: other, progress: progress), other)
            }
        } catch let failure as Failure {
            throw PresenceError(failure)
        }
    }
}

extension PresenceClient {
    /// A token of this user, as far as it says whose it is.
    ///
    /// - Throws: `PresenceError`, `signedOut` for another user's; `CancellationError`.
    func token(of user: String, insteadOf refused: String? = nil) async throws -> String {
        let token: String
        do {
            token = try await self.token(insteadOf: refused)
        } catch {
            throw error.thrown
        }
        try Task.checkCancellation()
        if let named = Self.user(of: token), !named.utf8.elementsEqual(user.utf8) {
            throw PresenceError(.signedOut, "the user signed out or was changed")
        }
        return token
    }
}

extension PresenceError {
    /// Why a request was not done. That its outcome may be unknown is nothing to tell: again is without harm.
    fileprivate init(_ failure: HTTPServer.Failure) {
        switch failure {
        case .unanswered(let failure):
            self.init(failure.wasSent ? .connectionLost : .notConnected, "no answer: \(failure.message)")
        case .refused(let refusal):
            let isNoImage = refusal.reason == "attachment_not_an_image"
            self.init(
                Self.code(of: refusal), refusal.message, field: isNoImage ? "file" : refusal.field,
                retryAfter: refusal.retryAfter)
        }
    }

    private static func code(of refusal: HTTPRefusal) -> Code {
        switch (refusal.status, refusal.code) {
        // The path is not there.
        case (404, _): .notOffered
        // A proxy says it without a code.
        case (413, _): .tooLarge
        case (_, let code?): Code(rawValue: code)
        case (429, nil), (500..., nil): .unavailable
        case (_, nil): .protocolViolation
        }
    }
}
