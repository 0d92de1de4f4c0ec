import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting

/// A presence server for the requests of these tests, by the rules of docs/protocol.md: sessions with a counter; the
/// previous token is accepted, older ones end the session.
// @unchecked: `state` is only touched with the lock.
final class ModelServer: @unchecked Sendable {
    struct State {
        var password = "correct horse"
        var email = "ana@example.org"
        var username: String?
        var emailVerified = false
        var setupCompleted = false
        var displayName = "ana"
        var grants: [Int: Int] = [1: 0]
        /// Access tokens that are rejected as if they had expired.
        var refused: Set<String> = []
        var lastAccess = 0
        var requests: [(line: String, body: [String: Any], token: String?)] = []
        var signUps: [String: Int] = [:]
        /// Whether a sign-up hides that the address is taken.
        var hidesExisting = false
        var providers: [String] = []
    }

    private let lock = NSLock()
    private var state = State()

    func change<Value>(_ body: (inout State) -> Value) -> Value { lock.withLock { body(&state) } }

    /// The received requests, in the form `POST /v1/sessions`.
    var lines: [String] { change { $0.requests.map(\.line) } }
    /// The newest refresh token of a session.
    func refreshToken(_ grant: Int = 1) -> String { change { "r-\(grant)-\($0.grants[grant] ?? -1)" } }
    func count(_ line: String) -> Int { lines.count { $0 == line } }
    func body(_ line: String) -> [String: Any]? { change { $0.requests.last { $0.line == line }?.body } }

    func handle(_ request: HTTPRequest) -> HTTPResponse {
        let path = request.url.absoluteString.replacing(/^[a-z]+:\/\/[^\/]+/, with: "")
        let body = request.body.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] } ?? [:]
        let token = request.headers["Authorization"]?.replacing("Bearer ", with: "")
        let line = "\(request.method) \(path)"
        return change { state in
            state.requests.append((line, body, token))
            return Self.handle(line, body, token, &state)
        }
    }

    private static func handle(
        _ line: String, _ body: [String: Any], _ token: String?, _ state: inout State
    ) -> HTTPResponse {
        switch line {
        case "POST /v1/accounts":
            if state.hidesExisting { return .json("{}", status: 202) }
            if let id = body["idempotency"] as? String, let grant = state.signUps[id] {
                return tokens(grant, 201, &state)
            }
            if body["email"] as? String == "taken@example.org" {
                return .error(409, "conflict", reason: "email_taken", message: "This email is already registered.")
            }
            let grant = begin(&state)
            if let id = body["idempotency"] as? String { state.signUps[id] = grant }
            return tokens(grant, 201, &state)
        case "POST /v1/sessions":
            guard body["password"] as? String == state.password || body["idToken"] as? String == "good" else {
                return .error(401, "unauthorized", reason: "invalid_credentials")
            }
            return tokens(begin(&state), 200, &state)
        case "POST /v1/sessions/refresh": return refresh(body["refreshToken"] as? String ?? "", &state)
        case "POST /v1/passwords/forgot": return .json("{}", status: 202)
        case "POST /v1/passwords/reset", "POST /v1/emails/verify":
            guard body["token"] as? String == "good" else {
                return .error(401, "unauthorized", reason: "token_expired")
            }
            state.emailVerified = true
            return HTTPResponse(status: 204)
        default: break
        }
        if line.hasPrefix("GET /v1/usernames/"), !line.hasSuffix("/user") { return username(line, token, state) }
        guard let token, let grant = grant(of: token, state) else { return .error(401, "unauthorized") }
        return own(line, body, grant, &state)
    }

    private static func own(
        _ line: String, _ body: [String: Any], _ grant: Int, _ state: inout State
    ) -> HTTPResponse {
        let isRight = body["password"] as? String == state.password
        switch line {
        case "DELETE /v1/sessions/current": state.grants[grant] = nil
        case "DELETE /v1/sessions/all": state.grants = [:]
        case "DELETE /v1/sessions/s-9": break
        case "GET /v1/me/sessions":
            return .json(
                #"""
                {"sessions":[{"id":"s-1","kind":"phone","name":"Ana's","createdAt":1000,"lastUsedAt":2000,"current":true},
                {"id":"s-9","kind":"web","createdAt":1000,"lastUsedAt":1500,"current":false}]}
                """#)
        case "GET /v1/me": return me(state)
        case "POST /v1/me/identities":
            guard body["idToken"] as? String == "good" else {
                return .error(409, "conflict", reason: "identity_taken")
            }
            state.providers.append(body["provider"] as? String ?? "")
            return me(state)
        case "DELETE /v1/me/identities/my%20own": state.providers.removeAll { $0 == "my own" }
        case "DELETE /v1/me/identities/apple": return .error(409, "conflict", reason: "last_sign_in")
        case "GET /v1/usernames/bob/user":
            return .json(
                #"""
                {"user":"u-bob","profile":{"version":3,"displayName":"Bob","username":"Bob",
                "photoURL":"https://example.org/b.jpg","createdAt":1000,"updatedAt":2000}}
                """#)
        case "GET /v1/usernames/shy/user": return .json(#"{"user":"u-shy","profile":null}"#)
        case let line where line.hasPrefix("GET /v1/usernames/"): return .error(404, "not_found")
        case "PATCH /v1/me":
            let changes = body["changes"] as? [String: Any] ?? [:]
            if let name = changes["displayName"] as? String { state.displayName = name }
            if let isDone = changes["setupCompleted"] as? Bool { state.setupCompleted = isDone }
            return me(state)
        case "POST /v1/me/password", "DELETE /v1/me", "POST /v1/me/email":
            guard isRight else { return .error(401, "unauthorized", reason: "invalid_credentials") }
            if line == "DELETE /v1/me" { state.grants = [:] }
            if line == "POST /v1/me/email" { return .json("{}", status: 202) }
            if body["renew"] as? Bool == true {
                state.grants = [:]
                return tokens(begin(&state), 200, &state)
            }
        case "PUT /v1/me/username":
            let name = body["username"] as? String ?? ""
            if name == "bob" { return .error(409, "conflict", reason: "username_taken") }
            state.username = name
            return .json(#"{"account":\#(account(state))}"#)
        case "DELETE /v1/me/username": state.username = nil
        case "PUT /v1/me/photo":
            return .json(
                #"{"photoURL":"https://p.example.org/v1/photos/x.jpg","thumbnailURL":"https://p.example.org/v1/photos/y.jpg","profile":{}}"#
            )
        case "DELETE /v1/me/photo": break
        default: return .error(404, "not_found")
        }
        return HTTPResponse(status: 204)
    }

    private static func begin(_ state: inout State) -> Int {
        let grant = (state.grants.keys.max() ?? 1) + 1
        state.grants[grant] = 0
        return grant
    }

    private static func refresh(_ token: String, _ state: inout State) -> HTTPResponse {
        let parts = token.split(separator: "-").dropFirst().compactMap { Int($0) }
        guard parts.count == 2, let counter = state.grants[parts[0]] else {
            return .error(401, "unauthorized", reason: "token_expired")
        }
        switch counter - parts[1] {
        case 0: state.grants[parts[0]] = counter + 1
        case 1: break
        default:
            state.grants[parts[0]] = nil
            return .error(401, "unauthorized", reason: "token_reused")
        }
        return tokens(parts[0], 200, &state)
    }

    private static func tokens(_ grant: Int, _ status: Int, _ state: inout State) -> HTTPResponse {
        state.lastAccess += 1
        return .json(
            """
            {"user":"u-1","accessToken":"a-\(grant)-\(state.lastAccess)","expiresIn":3600000,\
            "refreshToken":"r-\(grant)-\(state.grants[grant]!)","account":\(account(state))}
            """, status: status)
    }

    private static func grant(of token: String, _ state: State) -> Int? {
        guard !state.refused.contains(token) else { return nil }
        let grant = token.split(separator: "-").dropFirst().first.flatMap { Int($0) }
        return grant.flatMap { state.grants[$0] == nil ? nil : $0 }
    }

    private static func account(_ state: State) -> String {
        let name = state.username.map { #","username":"\#($0)""# } ?? ""
        return """
            {"user":"u-1","email":"\(state.email)","emailVerified":\(state.emailVerified)\(name),\
            "setupCompleted":\(state.setupCompleted),"createdAt":1763712000000}
            """
    }

    private static func me(_ state: State) -> HTTPResponse {
        let identities = state.providers.map {
            #"{"provider":"\#($0)","email":"ana@example.org","linkedAt":1000}"#
        }
        return .json(
            """
            {"account":\(account(state)),"profile":{"version":3,"displayName":"\(state.displayName)",\
            "photoURL":"https://example.org/a.jpg","timezone":"Europe/Lisbon"},\
            "identities":[\(identities.joined(separator: ","))]}
            """)
    }

    private static func username(_ line: String, _ token: String?, _ state: State) -> HTTPResponse {
        let name = line.replacing("GET /v1/usernames/", with: "")
        let reason: String? =
            name == "bob"
            ? "taken" : name == "admin" ? "reserved" : name == state.username && token != nil ? "yours" : nil
        let rest = reason.map { #""available":false,"reason":"\#($0)""# } ?? #""available":true"#
        return .json(#"{"username":"\#(name)",\#(rest)}"#)
    }
}
