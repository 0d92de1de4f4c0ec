import Foundation
import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET /v1/signin/{provider}` and its callback: browsers sign in by the authorization code of a provider (OpenID Connect Core 1.0,
/// section 3.1), with PKCE, `state` and `nonce`.
///
/// The page gets a code of its own behind the `#`, which works once, for a minute: `POST /v1/sessions {"code"}`.
extension Accounts {
    func beginSignIn(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let provider = try browserProvider(call)
        guard let query = FormFields(call.request.query), let address = query["return"], isReturn(address) else {
            throw Refusal(
                .badRequest, "return must be a path of this server, or in accounts.returnURLs", field: "return")
        }
        let challenge = query["challenge"]
        guard challenge?.utf8.count ?? 43 == 43 else {
            throw Refusal(.badRequest, "challenge must be a SHA-256 in base64url", field: "challenge")
        }
        let logins = try liveLogins()
        let documents = try await directory.documents(of: provider, with: nil, on: shard)
        guard let endpoint = documents.authorization else { throw IdentityRefusal.unavailable(after: 60_000).refusal }
        let state = SignInState(
            provider: provider.name, address: address, challenge: challenge,
            until: shard.clock.redisNow + SignInState.lifetime)
        guard let cookie = state.sealed(with: logins.key) else { throw .noStore }
        var fields = [
            ("response_type", "code"), ("client_id", provider.clientIDs[0]), ("redirect_uri", callback(provider)),
            ("scope", provider.scopes.joined(separator: " ")), ("state", state.state), ("nonce", state.nonce),
            ("code_challenge", SignInState.challenge(of: state.verifier)), ("code_challenge_method", "S256"),
        ]
        if provider.kind == .apple { fields.append(("response_mode", "form_post")) }
        let target = endpoint + (endpoint.contains("?") ? "&" : "?") + FormFields.text(fields)
        return redirect(to: target, cookie: cookie, of: provider, life: SignInState.lifetime / 1_000)
    }

    func finishSignIn(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let provider = try browserProvider(call)
        let isForm = call.request.method == "POST"
        let logins = try liveLogins()
        guard let fields = FormFields(isForm ? String(decoding: call.body, as: UTF8.self) : call.request.query),
            let cookie = self.cookie(of: provider, in: call),
            let state = SignInState(sealed: cookie, with: logins.key, at: shard.clock.redisNow),
            state.provider == provider.name, SignInState.isSame(state.state, fields["state"] ?? "")
        else {
            throw Refusal(
                .badRequest, "this browser has not begun this sign-in, or more than 10 minutes ago", field: "state")
        }
        let word: String
        do throws(Refusal) {
            word = "code=" + (try await code(for: fields, state, provider, call, logins))
        } catch {
            // A denied sign-in is the user's; all others are in the log.
            let reason = fields["error"] ?? error.message.reason ?? error.message.code.rawValue
            shard.logSparsely(
                "sign-in by a provider failed", ["provider": provider.name, "reason": error.message.message],
                level: .notice)
            word = FormFields.text([("error", String(reason.prefix(64)))])
        }
        return redirect(to: state.address + "#" + word, cookie: "", of: provider, life: 0)
    }

    /// `POST /v1/sessions` with `code`.
    func signIn(_ call: HTTPCall, code: String) async throws(Refusal) -> HTTPResponse {
        let (verifier, named, device) = try call.body { (body) throws(DecodingFailure) in
            (try body.optionalText("verifier"), try body.optionalText("displayName"), try SigningDevice(body))
        }
        if let named, let rule = DisplayName.brokenRule(by: FreeText.trimmed(named)) {
            throw Refusal(DecodingFailure.invalid("displayName", rule))
        }
        let logins = try liveLogins()
        try chargeTry(call, "too many codes were tried from this address: this one was not checked")
        let key = codeKey(code, logins)
        let kept = try await shard.run("GETDEL", key, changes: true).string
        guard let kept, let ticket = try? JSONDecoder().decode(SignInTicket.self, from: Data(kept.utf8)),
            ticket.isBound(to: verifier)
        else {
            countFailure(of: call.address)
            throw Refusal(
                .unauthorized, "this code does not sign in", status: 401, field: "code", reason: "invalid_credentials")
        }
        tries.refund(1, to: call.address)
        return try await signIn(call, with: ticket.identity, named: named.map(FreeText.trimmed), on: device)
    }

    // MARK: Steps

    /// A code of the page, for the provider's.
    private func code(
        for fields: FormFields, _ state: SignInState, _ provider: Provider, _ call: HTTPCall,
        _ logins: LoginPartitions
    ) async throws(Refusal) -> String {
        let documents = try await directory.documents(of: provider, with: nil, on: shard)
        // RFC 9207: the answer must be of the provider that was asked.
        if let issuer = fields["iss"], !documents.issuer.contains("{"), issuer != documents.issuer {
            throw IdentityRefusal.token(.wrongIssuer).refusal
        }
        guard fields["error"] == nil, let granted = fields["code"], !granted.isEmpty, let endpoint = documents.token
        else { throw IdentityRefusal.token(.malformed).refusal }
        try chargeTry(call, "too many sign-ins were tried from this address: this one was not checked")
        let token: String
        do throws(Refusal) {
            token = try await directory.trade(
                granted, state, at: endpoint, provider, callback: callback(provider), on: shard)
        } catch {
            // A provider that is out of reach is not the caller's failure.
            if error.status != 401 { tries.refund(1, to: call.address) }
            throw error
        }
        let claims = try await verify(call, token, of: provider, nonce: state.nonce)
        let ticket = SignInTicket(Identity(claims, by: provider, logins), challenge: state.challenge)
        let code = SignInState.random()
        guard let json = try? JSONEncoder().encode(ticket) else { throw .noStore }
        _ = try await shard.run(
            "SET", codeKey(code, logins), String(decoding: json, as: UTF8.self), "PX", "60000", changes: true)
        return code
    }

    private func codeKey(_ code: String, _ logins: LoginPartitions) -> String {
        let digest = Sodium.sha256(Array(code.utf8)).hexadecimal
        return logins.keys(of: digest).signInCode(Identifier(digest)!)
    }

    private func browserProvider(_ call: HTTPCall) throws(Refusal) -> Provider {
        guard let provider = providers.first(where: { $0.name == call.texts[0] && $0.credential != nil }) else {
            throw Refusal(.notFound, "there is no such provider for browsers")
        }
        return provider
    }

    /// Whether a browser may be sent there: a path of this server, or one of the configured addresses.
    private func isReturn(_ address: String) -> Bool {
        guard address.utf8.count <= 512, address.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !address.contains("#"), !address.contains("\\")
        else { return false }
        guard address.hasPrefix("/") else { return shard.configuration[Accounts.returnURLs].contains(address) }
        // A call of the interface could redirect to another provider, with the code behind the #.
        return !address.hasPrefix("//") && !address.hasPrefix("/v1/") && Self.isPlain(address.prefix { $0 != "?" })
    }

    /// Whether a path has one reading: browsers resolve segments of dots, and the server decodes what is percent-encoded, so a
    /// path with either may be another one. Characters that must be encoded may be.
    private static func isPlain(_ path: Substring) -> Bool {
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else { return false }
        return path.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy { rest in
            guard rest.utf8.count >= 2, let byte = UInt8(rest.prefix(2), radix: 16) else { return false }
            let character = Character(UnicodeScalar(byte))
            return !(character.isASCII && (character.isLetter || character.isNumber)) && !"-._~/\\".contains(character)
        }
    }

    /// The address that is registered at the provider.
    private func callback(_ provider: Provider) -> String {
        "\(publicOrigin)/v1/signin/\(provider.name)/callback"
    }

    /// The scheme, host and port of `accounts.linkBase`; without it, of the address that the server listens on.
    private var publicOrigin: String {
        guard var parts = URLComponents(string: shard.configuration[Accounts.linkBase]), parts.host != nil else {
            return shard.configuration.ownURL
        }
        (parts.path, parts.query, parts.fragment, parts.user, parts.password) = ("", nil, nil, nil, nil)
        return parts.string ?? shard.configuration.ownURL
    }

    // MARK: The cookie

    private func cookieName(_ provider: Provider) -> String {
        // No other host of the domain can set a cookie with this prefix (RFC 6265bis, section 4.1.3.2).
        (publicOrigin.hasPrefix("https:") ? "__Host-" : "") + "presence-signin-\(provider.name)"
    }

    private func cookie(of provider: Provider, in call: HTTPCall) -> String? {
        let prefix = cookieName(provider) + "="
        return (call.request.headers["cookie"] ?? "").split(separator: ";").lazy
            .map { $0.trimmingCharacters(in: .whitespaces) }.first { $0.hasPrefix(prefix) }
            .map { String($0.dropFirst(prefix.count)) }
    }

    private func redirect(to target: String, cookie: String, of provider: Provider, life: Int64) -> HTTPResponse {
        let isSecure = publicOrigin.hasPrefix("https:")
        // Apple answers by a form of its own page, with which browsers send no cookie that is Lax.
        let site = provider.kind == .apple && isSecure ? "None" : "Lax"
        let text = "\(cookieName(provider))=\(cookie); Path=/; Max-Age=\(life); HttpOnly; SameSite=\(site)"
        return HTTPResponse(
            status: 302,
            headers: [
                ("Location", target), ("Set-Cookie", text + (isSecure ? "; Secure" : "")),
                ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
            ])
    }
}

/// The identity behind a code of a page.
struct SignInTicket: Codable {
    private let provider: String
    private let digest: String
    private let email: String?
    private let isEmailVerified: Bool
    private let displayName: String?
    private let challenge: String?

    init(_ identity: Identity, challenge: String?) {
        (provider, digest, email) = (identity.provider, identity.digest, identity.email?.text)
        (isEmailVerified, displayName, self.challenge) = (identity.isEmailVerified, identity.displayName, challenge)
    }

    /// A page that sends a verifier has sent a challenge, so a code without one is of another page.
    func isBound(to verifier: String?) -> Bool {
        guard let challenge, let verifier else { return challenge == nil && verifier == nil }
        return SignInState.isSame(challenge, SignInState.challenge(of: verifier))
    }

    var identity: Identity {
        Identity(
            provider: provider, digest: digest, email: email.flatMap { EmailAddress($0) },
            isEmailVerified: isEmailVerified, displayName: displayName)
    }
}
