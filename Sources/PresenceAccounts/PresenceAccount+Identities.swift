import Foundation
import PresenceKit

// Providers with which the signed-in user can sign in.
extension PresenceAccount {
    /// The user's identities at providers, as the server has them.
    public func identities() async throws -> [Account.Identity] {
        try await identities(AccountServer.Request("GET", "v1/me"))
    }

    /// Adds an identity of a provider, with which the user can sign in from then on. A guest keeps everything, and is none
    /// any more.
    ///
    /// - Parameters:
    ///   - provider: its name in the server's configuration.
    ///   - idToken: the identity token that the app has from the provider's own library.
    ///   - nonce: as in ``signIn(provider:idToken:nonce:displayName:)``.
    /// - Returns: all of the user's identities.
    /// - Throws: reasons `invalidCredentials` for a token that is not accepted, `identityTaken` if another account has the
    ///   identity.
    @discardableResult
    public func link(provider: String, idToken: String, nonce: String? = nil) async throws -> [Account.Identity] {
        var members: [String: JSONValue] = ["provider": .string(provider), "idToken": .string(idToken)]
        members["nonce"] = nonce.map { .string($0) }
        return try await identities(AccountServer.Request("POST", "v1/me/identities", members))
    }

    /// Removes all of the user's identities at a provider. Sessions stay.
    ///
    /// - Throws: `notFound` if there is none; reason `lastSignIn` if the user could not sign in any more.
    public func unlink(provider: String) async throws {
        _ = try await authorized(.init("DELETE", "v1/me/identities/\(HTTPServer.escaped(provider))"))
    }

    private func identities(_ request: AccountServer.Request) async throws -> [Account.Identity] {
        let (body, asked) = try await authorized(request)
        let answer = try AccountServer.decode(Answer.Me.self, from: body, of: request)
        hold(Account(answer), of: asked)
        return answer.identities ?? []
    }
}

extension Account {
    /// An identity of the user at a provider, such as Apple or Google.
    public struct Identity: Codable, Hashable, Sendable {
        /// The provider's name in the server's configuration.
        public var provider: String
        /// The address that the provider states; `nil` if it states none.
        public var email: String?
        /// When it was added, by the server's clock.
        public var linkedAt: Date

        /// Creates an identity, for fakes and previews.
        public init(provider: String, email: String? = nil, linkedAt: Date) {
            (self.provider, self.email, self.linkedAt) = (provider, email, linkedAt)
        }
    }
}
