// Never run on a device: only compiled against Apple's frameworks.
#if canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation
    import PresenceKit

    // Sign in with Apple.
    extension PresenceAccount {
        /// Shows Apple's sheet, and signs in with its answer.
        ///
        /// - Parameter provider: the name of Apple in the server's configuration.
        /// - Throws: `CancellationError` if the user cancels; what Apple's sheet reports; and as
        ///   ``signIn(provider:idToken:nonce:displayName:)``.
        @MainActor @discardableResult
        public func signInWithApple(provider: String = "apple") async throws -> Account {
            let nonce = UUID().uuidString
            let answer = try await AppleSheet().ask(nonce: nonce)
            return try await signIn(
                provider: provider, idToken: answer.token, nonce: nonce, displayName: answer.name)
        }

        /// Shows Apple's sheet, and adds the identity to the signed-in user's account.
        ///
        /// - Throws: as ``signInWithApple(provider:)`` and ``link(provider:idToken:nonce:)``.
        @MainActor @discardableResult
        public func linkApple(provider: String = "apple") async throws -> [Account.Identity] {
            let nonce = UUID().uuidString
            let answer = try await AppleSheet().ask(nonce: nonce)
            return try await link(provider: provider, idToken: answer.token, nonce: nonce)
        }

        /// Signs in with the answer to a request of the app's own, for example of SwiftUI's `SignInWithAppleButton`.
        ///
        /// - Parameters:
        ///   - authorization: the answer to a request for an Apple ID. With the scope `fullName`, it has the name of a user
        ///     who signs in for the first time.
        ///   - nonce: the text that the app gave to the request, itself or as its SHA-256 in hexadecimal.
        /// - Throws: as ``signIn(provider:idToken:nonce:displayName:)``; reason `invalidCredentials` for an answer without a
        ///   token.
        @MainActor @discardableResult
        public func signIn(
            with authorization: ASAuthorization, provider: String = "apple", nonce: String? = nil
        ) async throws -> Account {
            let answer = try AppleSheet.answer(authorization)
            return try await signIn(
                provider: provider, idToken: answer.token, nonce: nonce, displayName: answer.name)
        }
    }

    /// Apple's sheet, shown once.
    @MainActor private final class AppleSheet: NSObject, ASAuthorizationControllerDelegate {
        /// Apple states the name only once, at the first sign-in.
        typealias Answer = (token: String, name: String?)

        private var waiting: CheckedContinuation<Answer, any Error>?

        func ask(nonce: String) async throws -> Answer {
            let request = ASAuthorizationAppleIDProvider().createRequest()
            request.requestedScopes = [.fullName]
            request.nonce = nonce
            let controller = ASAuthorizationController(authorizationRequests: [request])
            controller.delegate = self
            defer { withExtendedLifetime(controller) {} }
            return try await withCheckedThrowingContinuation {
                waiting = $0
                controller.performRequests()
            }
        }

        static func answer(_ authorization: ASAuthorization) throws -> Answer {
            guard let credential = authorization.credential as? ASAuthorizationAppleIDCredential,
                let token = credential.identityToken
            else { throw PresenceError.account(.unauthorized, reason: .invalidCredentials) }
            let name = credential.fullName?.formatted()
            return (String(decoding: token, as: UTF8.self), name?.isEmpty == true ? nil : name)
        }

        private func end(_ answer: Result<Answer, any Error>) {
            waiting?.resume(with: answer)
            waiting = nil
        }

        func authorizationController(
            controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
        ) {
            end(Result { try Self.answer(authorization) })
        }

        func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
            end(.failure((error as? ASAuthorizationError)?.code == .canceled ? CancellationError() : error))
        }
    }
#endif
