import Foundation
import PresenceKit

// Passwords and e-mail addresses.
extension PresenceAccount {
    public func resetPassword(email: String) async throws {
        let email = User.EmailRule.trimmed(email)
        _ = try await server.send(.init("POST", "v1/passwords/forgot", ["email": .string(email)]))
    }

    public func resetPassword(token: String, newPassword: String) async throws {
        let members: [String: JSONValue] = ["token": .string(token), "password": .string(newPassword)]
        _ = try await server.send(.init("POST", "v1/passwords/reset", members))
    }

    public func verifyEmail(token: String) async throws {
        _ = try await server.send(.init("POST", "v1/emails/verify", ["token": .string(token)]))
        // The address may be that of the signed-in user.
        if session != nil { _ = try? await currentUser() }
    }

    public func changePassword(from password: String, to newPassword: String) async throws {
        // Requests new tokens for this device, because the former ones may have been stolen.
        let members: [String: JSONValue] = [
            "password": .string(password), "newPassword": .string(newPassword), "renew": .bool(true),
        ]
        let (body, asked) = try await authorized(.init("POST", "v1/me/password", members))
        // Older servers return none.
        guard asked.generation == generation, !body.isEmpty,
            let tokens = try? JSONDecoder().decode(Answer.Tokens.self, from: body)
        else { return }
        try keep(tokens)
    }

    public func changeEmail(to email: String, password: String) async throws {
        let members: [String: JSONValue] = [
            "password": .string(password), "email": .string(User.EmailRule.trimmed(email)),
        ]
        _ = try await authorized(.init("POST", "v1/me/email", members))
    }

    public func deleteAccount(password: String?) async throws {
        try await deleteAccount(password: password, messages: .keep)
    }

    public func deleteAccount(password: String?, messages: Account.MessageFate) async throws {
        var members = password.map { ["password": JSONValue.string($0)] } ?? [:]
        // Older servers know no such member, and keep them.
        if messages == .delete { members["messages"] = .string("delete") }
        let asked = try await authorized(.init("DELETE", "v1/me", members)).asked
        if asked.generation == generation { try await end(.accountDeleted) }
    }
}
