import Foundation
import PresenceKit

// The signed-in user, their sessions and their username.
extension PresenceAccount {
    public func currentUser() async throws -> User {
        try restore()
        guard session?.stored.account.displayName != nil else { return try await readUser() }
        let (users, user) = AsyncThrowingStream.makeStream(of: User.self)
        tasks.start { [self] in
            do {
                user.yield(try await readUser())
            } catch let error as PresenceError where Self.unreachable.contains(error.code) {
                await yieldKnown(to: user)
            } catch {
                user.finish(throwing: error)
            }
        }
        let waiting = Task { [sleep, patience = configuration.patience, weak self] in
            if (try? await sleep(patience)) != nil { await self?.yieldKnown(to: user) }
        }
        defer { waiting.cancel() }
        for try await user in users { return user }
        throw CancellationError()
    }

    private static let unreachable: Set<PresenceError.Code> = [
        .notConnected, .connectionLost, .timedOut, .unavailable, .rateLimited,
    ]

    private func readUser() async throws -> User { try await user(.init("GET", "v1/me", isRepeatable: true)) }

    private func yieldKnown(to user: AsyncThrowingStream<User, any Error>.Continuation) {
        guard let account = session?.stored.account else {
            return user.finish(throwing: PresenceError.account(.notSignedIn))
        }
        user.yield(User(account))
    }

    @discardableResult
    public func update(
        _ changes: ProfileChanges, preferredLanguage: Change<String>, setupCompleted: Bool?
    ) async throws -> User {
        // Without unchanged members; a removed one is null.
        var members = try JSONDecoder().decode([String: JSONValue].self, from: JSONEncoder().encode(changes))
        switch preferredLanguage {
        case .keep: break
        case .remove: members["preferredLanguage"] = .null
        case .set(let tag): members["preferredLanguage"] = .string(tag)
        }
        members["setupCompleted"] = setupCompleted.map { .bool($0) }
        return try await user(.init("PATCH", "v1/me", ["changes": .object(members)], isRepeatable: true))
    }

    public func sessions() async throws -> [Account.Session] {
        let request = AccountServer.Request("GET", "v1/me/sessions", isRepeatable: true)
        return try await response(to: request, as: Answer.Sessions.self).answer.sessions.map(Account.Session.init)
    }

    public func availability(ofUsername username: String) async throws -> Account.UsernameAvailability {
        guard User.UsernameRule.fault(in: username) == nil else { return .invalid }
        let path = "v1/usernames/\(HTTPServer.escaped(username))"
        let request = AccountServer.Request("GET", path, isRepeatable: true)
        // A token is optional: it only distinguishes the user's own name.
        let token = try? await accessToken()
        let answer = try await server.send(request, token: token, as: Answer.Username.self)
        if answer.available { return .available }
        return answer.reason.map(Account.UsernameAvailability.init(rawValue:)) ?? .taken
    }

    public func user(named username: String) async throws -> User? {
        guard User.UsernameRule.fault(in: username) == nil else { return nil }
        let path = "v1/usernames/\(HTTPServer.escaped(username))/user"
        do {
            return User(try await response(to: .init("GET", path, isRepeatable: true), as: FoundUser.self).answer)
        } catch let error as PresenceError where error.code == .notFound {
            return nil
        }
    }

    @discardableResult
    public func claimUsername(_ username: String) async throws -> Account {
        let request = AccountServer.Request(
            "PUT", "v1/me/username", ["username": .string(username)], isRepeatable: true)
        let (answer, asked) = try await response(to: request, as: Answer.AccountAlone.self)
        hold(Account(answer.account), of: asked)
        return Account(answer.account)
    }

    public func releaseUsername() async throws {
        let asked = try await authorized(.init("DELETE", "v1/me/username", isRepeatable: true)).asked
        guard var account = session?.stored.account else { return }
        account.username = nil
        hold(account, of: asked)
    }

    private func user(_ request: AccountServer.Request) async throws -> User {
        let (answer, asked) = try await response(to: request, as: Answer.Me.self)
        hold(Account(answer), of: asked)
        return User(answer)
    }

    private func response<Answer: Decodable>(
        to request: AccountServer.Request, as type: Answer.Type
    ) async throws -> (answer: Answer, asked: Asked) {
        let (body, asked) = try await authorized(request)
        return (try AccountServer.decode(type, from: body, of: request), asked)
    }
}
