import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import Tokens
import WebSockets

/// `POST /v1/sessions` with `provider`: signing in with an identity token, which an app has from its provider.
extension Accounts {
    func signIn(_ call: HTTPCall, by name: String) async throws(Refusal) -> HTTPResponse {
        let (named, device) = try call.body { (body) throws(DecodingFailure) in
            (try body.optionalText("displayName"), try SigningDevice(body))
        }
        if let named, let rule = DisplayName.brokenRule(by: FreeText.trimmed(named)) {
            throw Refusal(DecodingFailure.invalid("displayName", rule))
        }
        let identity = try await verifiedIdentity(in: call, by: name)
        return try await signIn(call, with: identity, named: named.map(FreeText.trimmed), on: device)
    }

    /// The identity of the token in a call's body.
    func verifiedIdentity(in call: HTTPCall, by name: String) async throws(Refusal) -> Identity {
        let (text, nonce) = try call.body { (body) throws(DecodingFailure) in
            (try body.text("idToken"), try body.optionalText("nonce"))
        }
        guard let provider = providers.first(where: { $0.name == name }) else {
            throw Refusal(DecodingFailure.invalid("provider", "must be one of this server's providers"))
        }
        let logins = try liveLogins()
        try chargeTry(call, "too many tokens were tried from this address: this one was not checked")
        let claims = try await verify(call, text, of: provider, nonce: nonce)
        return Identity(claims, by: provider, logins)
    }

    /// - Parameter nonce: The request's. Apps may have given the provider its SHA-256 instead, as Apple advises.
    func verify(
        _ call: HTTPCall, _ text: String, of provider: Provider, nonce: String?
    ) async throws(Refusal) -> IdentityClaims {
        try await judged(call) { () async throws(Refusal) in
            try await claims(call, text, of: provider, nonce: nonce)
        }
    }

    /// The value of a token for which the caller's address was charged: it is charged for refused tokens only.
    func judged<Value>(_ call: HTTPCall, _ judge: () async throws(Refusal) -> Value) async throws(Refusal) -> Value {
        do throws(Refusal) {
            let value = try await judge()
            tries.refund(1, to: call.address)
            return value
        } catch {
            if error.status == 401 {
                countFailure(of: call.address)
            } else {
                tries.refund(1, to: call.address)
            }
            throw error
        }
    }

    private func claims(
        _ call: HTTPCall, _ text: String, of provider: Provider, nonce: String?
    ) async throws(Refusal) -> IdentityClaims {
        let token: IdentityToken
        do throws(IdentityFailure) {
            token = try IdentityToken(text)
        } catch {
            throw IdentityRefusal.token(error).refusal
        }
        let documents = try await directory.documents(of: provider, with: token.keyID, on: shard)
        let rules = provider.rules(
            issuer: documents.issuer, nonces: nonce.map { [$0, Sodium.sha256(Array($0.utf8)).hexadecimal] })
        let now = shard.clock.redisNow
        let verified = try await call.work(.signatures) { () -> Result<IdentityClaims, IdentityFailure> in
            do throws(IdentityFailure) {
                return .success(try token.claims(by: documents.keys, rules, now: now))
            } catch {
                return .failure(error)
            }
        }
        switch verified {
        case .success(let claims): return claims
        case .failure(let failure): throw IdentityRefusal.token(failure).refusal
        }
    }

    // MARK: Signing in

    /// Signs the owner of the identity in, or links it to the account that has verified its address, or creates an account.
    func signIn(
        _ call: HTTPCall, with identity: Identity, named: String?, on device: SigningDevice
    ) async throws(Refusal) -> HTTPResponse {
        // Each turn follows a change that another request made meanwhile.
        for _ in 0..<5 {
            if let claim = try await claim(on: identity.name) {
                if let response = try await enter(claim, identity, device) { return response }
                continue
            }
            if let email = identity.verifiedEmail, let owner = try await owner(of: email) {
                let keys = shard.partitions.keys(of: owner)
                let words = try await shard.run("HMGET", keys.user(owner), "verified", "disabled").array ?? []
                guard words.count == 2, words[1].isNull else { throw IdentityRefusal.disabled.refusal }
                guard !words[0].isNull else { return proof(of: email) }
                var identity = identity
                identity.notice = AccountMails.identityAdded(by: identity.provider, of: owner, self)
                let reply = try await identityChange.link(identity, to: owner, with: email, by: nil)
                if reply.word == "FULL" { throw IdentityRefusal.tooMany.refusal }
                continue
            }
            if let response = try await signUp(call, identity, named, device) { return response }
        }
        throw .noStore
    }

    /// The user whose account has an address.
    private func owner(of email: EmailAddress) async throws(Refusal) -> UserID? {
        _ = try liveLogins()
        guard let claim = try await claim(on: .email(email)), try await isHeld(.email(email), by: claim) else {
            return nil
        }
        return claim.user
    }

    /// - Returns: `nil` if the claim was void, and is released.
    private func enter(
        _ claim: AccountClaim, _ identity: Identity, _ device: SigningDevice
    ) async throws(Refusal) -> HTTPResponse? {
        let (user, keys, grant) = (claim.user, shard.partitions.keys(of: claim.user), newGrant())
        let reply = try await shard.run(
            ScriptCall(
                .enterIdentity, in: keys,
                ["user": keys.user(user), "grants": keys.grants(user), "mail": keys.mail],
                [
                    "user": user, "identity": identity.digest, "number": claim.number, "grant": grant.id,
                    "secret": grant.key.hexadecimal, "kind": device.kind, "name": device.name,
                    "idle": shard.configuration[Accounts.idle], "most": shard.configuration[Accounts.mostDevices],
                    "device": device.digest, "notice": AccountMails.newDevice(device, of: user, self),
                ]))
        switch reply.word {
        case "OK":
            mail.deliver(keys)
            var account = reply[0].bytes
            if reply[1].string == "1" { account = await giveAddress(of: identity, to: user) ?? account }
            return try tokens(
                of: user, grant.id, key: grant.key, counter: 1, account: account, status: 200, isCreated: false)
        case "STALE":
            guard try await !isHeld(identity.name, by: claim) else {
                throw Refusal(.unavailable, "this identity is just being linked", retryAfter: 1_000)
            }
            return nil
        default: throw IdentityRefusal.disabled.refusal
        }
    }

    /// - Returns: `nil` if another request has created an account with the identity.
    private func signUp(
        _ call: HTTPCall, _ identity: Identity, _ named: String?, _ device: SigningDevice
    ) async throws(Refusal) -> HTTPResponse? {
        guard let logins, let partition = logins.partition(ofIdentity: identity.digest) else { throw .noStore }
        let keys = shard.partitions.keys(partition)
        try chargeSignUp(call, "too many accounts were created from this address: nothing was done")
        let (user, grant) = (drawUser(in: partition), newGrant())
        let fromEmail = identity.email.map { shard.configuration.defaultDisplayName(of: $0) }
        let reply = try await shard.run(
            ScriptCall(
                .signUpIdentity, in: keys,
                [
                    "user": keys.user(user), "identities": keys.identities(with: identity.digest),
                    "grants": keys.grants(user), "directory": keys.directory,
                ],
                [
                    "user": user, "identity": identity.digest, "provider": identity.provider,
                    "email": identity.emailArgument,
                    "displayName": JSONWriter.encoded(named ?? identity.displayName ?? fromEmail ?? "User"),
                    "grant": grant.id, "secret": grant.key.hexadecimal, "kind": device.kind, "name": device.name,
                    "device": device.digest,
                ]))
        guard reply.word == "OK" else { return nil }
        let account = await giveAddress(of: identity, to: user) ?? reply[0].bytes
        return try tokens(
            of: user, grant.id, key: grant.key, counter: 1, account: account, status: 201, isCreated: true)
    }

    /// Gives an account without an address the one that the provider has verified, if no other account has it. If that fails,
    /// the next sign-in does it.
    ///
    /// - Returns: The account; `nil` if nothing was done.
    func giveAddress(of identity: Identity, to user: UserID) async -> [UInt8]? {
        guard let email = identity.verifiedEmail else { return nil }
        do throws(Refusal) {
            guard try await owner(of: email) == nil,
                try await emailChange.upgrade(user, to: email, nil, isProved: true, by: nil).word == "OK"
            else { return nil }
            return try await account(of: user)[0].bytes
        } catch {
            return nil
        }
    }

    /// The response if an account has the identity's address without having verified it. Its mail has a code, which signs in
    /// and proves the address. The entries of another person in the account end then (`enter.lua`).
    private func proof(of email: EmailAddress) -> HTTPResponse {
        let code = MailCode()
        late.begin { [unowned self] () async throws(RedisFailure) in try await mailCode(code, to: email) }
        var response = Refusal.emailTaken.response
        response.body.removeLast()
        response.body += Array(#","verify":true}"#.utf8)
        return response
    }
}
