import Foundation
import PresenceKit
import PresenceProtocol

// Accounts over HTTP (docs/protocol.md, section 14).
extension InMemoryServer {
    /// A user who can sign in.
    struct Registration {
        /// A guest has neither address nor password.
        var email: String?
        var password: String?
        var emailVerified = false
        var username: String?
        var setupCompleted = false
        var preferredLanguage: String?
        var createdAt: Timestamp
        var version: Int64
    }

    /// A signed-in device.
    struct Grant {
        var user: String
        var device: Object
        var since: Timestamp
        /// The number of the newest refresh token.
        var counter = 0
    }

    /// A mail with a link.
    struct Mail {
        var email: String
        var user: String
        var token: String
        var isReset: Bool
        /// The password of a guest who becomes a user when the link is opened.
        var password: String?
    }
}

extension InMemoryServer.State {
    /// The requests that need no session. `nil` for others.
    mutating func openRequest(_ line: String, _ asked: Object) throws(Refusal) -> HTTPResponse? {
        switch line {
        case "POST /v1/accounts": return try signUp(asked)
        case "POST /v1/sessions":
            let name = User.EmailRule.trimmed(asked["email"] as? String ?? "").lowercased()
            let found = accounts.first { $0.value.email == name || $0.value.username?.lowercased() == name }
            if let code = asked["mailCode"] as? String {
                guard let found, codes[name] == code.filter({ $0 != " " }) else { throw .invalidCredentials }
                codes[name] = nil
                change(found.key) { $0.emailVerified = true }
                return begin(found.key, asked)
            }
            guard let found, found.value.password == asked["password"] as? String else { throw .invalidCredentials }
            return begin(found.key, asked)
        case "POST /v1/signin/mail":
            let email = User.EmailRule.trimmed(asked["email"] as? String ?? "").lowercased()
            if accounts.contains(where: { $0.value.email == email }) { codes[email] = "\(100_000 + nextVersion())" }
            return .json([:], status: 202)
        case "POST /v1/sessions/refresh": return try refresh(asked["refreshToken"] as? String ?? "")
        case "POST /v1/passwords/forgot":
            let email = User.EmailRule.trimmed(asked["email"] as? String ?? "").lowercased()
            if let user = accounts.first(where: { $0.value.email == email })?.key { mail(email, user, isReset: true) }
            return .json([:], status: 202)
        case "POST /v1/passwords/reset":
            let mail = try mail(asked, isReset: true)
            try check(newPassword: asked["password"] as? String ?? "", "password")
            mails.removeAll { $0.token == mail.token }
            accounts[mail.user]?.password = asked["password"] as? String ?? ""
            accounts[mail.user]?.emailVerified = true
            endSessions(of: mail.user)
            return HTTPResponse(status: 204)
        case "POST /v1/emails/verify":
            let mail = try mail(asked, isReset: false)
            mails.removeAll { $0.token == mail.token }
            // Another user may have signed up with it in the meantime.
            if accounts[mail.user]?.email != mail.email { try checkFree(mail.email) }
            change(mail.user) { account in
                (account.email, account.emailVerified) = (mail.email, true)
                account.password = mail.password ?? account.password
            }
            return HTTPResponse(status: 204)
        default: return nil
        }
    }

    /// The requests of a signed-in device.
    mutating func accountRequest(
        _ line: String, _ asked: Object, _ body: Data, _ user: String, _ grant: Int
    ) throws(Refusal) -> HTTPResponse? {
        let none = HTTPResponse(status: 204)
        switch line {
        case "DELETE /v1/sessions/current": end(grant)
        case "DELETE /v1/sessions/all": endSessions(of: user)
        case let line where line.hasPrefix("DELETE /v1/sessions/s-"):
            guard let id = Int(line.dropFirst("DELETE /v1/sessions/s-".count)), grants[id]?.user == user else {
                throw Refusal(code: .notFound, message: "no such session")
            }
            end(id)
        case "GET /v1/me/sessions":
            let own = grants.filter { $0.value.user == user }.sorted { $0.key < $1.key }
            let sessions = own.map { id, held -> Object in
                let times: Object = [
                    "id": "s-\(id)", "createdAt": Int(held.since), "lastUsedAt": Int(held.since),
                    "current": id == grant,
                ]
                return held.device.merging(times) { $1 }
            }
            return .json(["sessions": sessions])
        case "GET /v1/me": return me(user)
        case "PATCH /v1/me":
            try change(asked["changes"] as? Object ?? [:], body, of: user)
            return me(user)
        case "POST /v1/me/upgrade":
            guard accounts[user]?.email == nil else { throw .conflict("already_upgraded") }
            let email = try checked(asked["email"] as? String ?? "")
            try check(newPassword: asked["password"] as? String ?? "", "password")
            let password = asked["password"] as? String
            if hidesExisting {
                if try isFree(email) { mail(email, user, isReset: false, password: password) }
                return .json([:], status: 202)
            }
            try checkFree(email)
            change(user) { ($0.email, $0.password) = (email, password) }
            mail(email, user, isReset: false)
            return me(user)
        case "POST /v1/me/password", "POST /v1/me/email", "DELETE /v1/me":
            try check(asked, user)
            return try passwordRequest(line, asked, user, grant)
        case "PUT /v1/me/username":
            let name = asked["username"] as? String ?? ""
            try check(username: name, of: user)
            set(username: name, of: user)
            return .json(["account": account(user)])
        case "DELETE /v1/me/username": set(username: nil, of: user)
        case "PUT /v1/me/photo":
            uploads.append(body)
            let url = "https://example.org/photo-\(uploads.count)"
            setPhoto(url + ".jpg", url + "-small.jpg", of: user)
            return .json(["photoURL": url + ".jpg", "thumbnailURL": url + "-small.jpg"])
        case "DELETE /v1/me/photo": setPhoto(nil, nil, of: user)
        default: return nil
        }
        return none
    }

    /// The requests with the account's password, which was checked.
    private mutating func passwordRequest(
        _ line: String, _ asked: Object, _ user: String, _ grant: Int
    ) throws(Refusal) -> HTTPResponse {
        let none = HTTPResponse(status: 204)
        switch line {
        case "POST /v1/me/password":
            try check(newPassword: asked["newPassword"] as? String ?? "", "newPassword")
            accounts[user]!.password = asked["newPassword"] as? String ?? ""
            for id in grants.keys where grants[id]!.user == user && id != grant { end(id) }
            guard asked["renew"] as? Bool == true else { return none }
            let device = grants[grant]!.device
            end(grant)
            return begin(user, ["device": device])
        case "POST /v1/me/email":
            let email = try checked(asked["email"] as? String ?? "")
            if try isFree(email) { mail(email, user, isReset: false) }
            return .json([:], status: 202)
        default:
            if asked["messages"] as? String == "delete" { eraseMessages(of: user) }
            for asked in askings.keys { end(user, in: asked) }
            (askings[user], notificationSettings[user]) = (nil, nil)
            endSessions(of: user)
            accounts[user] = nil
            users[UserID(user)!] = nil
            for id in talks.keys { talks[id]!.members.removeAll { $0 == user } }
        }
        return none
    }

    /// As if the user had deleted each message.
    private mutating func eraseMessages(of user: String) {
        for (id, talk) in talks where talk.members.contains(user) {
            for message in talk.log where message["from"] as? String == user {
                _ = try? change(["message": message["id"]!], "deleteMessage", by: user, in: id)
            }
        }
    }

    // MARK: Sessions

    private mutating func signUp(_ asked: Object) throws(Refusal) -> HTTPResponse {
        if asked["guest"] as? Bool == true {
            let name = asked["displayName"] as? String ?? "Guest"
            return begin(addAccount("u-\(accounts.count + 1)", nil, nil, name, nil), asked, 201)
        }
        let email = try checked(asked["email"] as? String ?? "")
        let password = asked["password"] as? String ?? ""
        try check(newPassword: password, "password")
        let name = asked["displayName"] as? String
        if let name, User.DisplayNameRule.fault(in: name) != nil { throw .invalid("displayName", nil) }
        if let id = asked["idempotency"] as? String, let user = signUps[id] { return begin(user, asked, 201) }
        let username = hidesExisting ? nil : asked["username"] as? String
        if let username { try check(username: username, of: nil) }
        guard try isFree(email) else { return .json([:], status: 202) }
        let typed = User.DisplayNameRule.standard(for: User.EmailRule.trimmed(asked["email"] as? String ?? ""))
        let user = addAccount("u-\(accounts.count + 1)", email, password, name ?? typed, username)
        if let id = asked["idempotency"] as? String { signUps[id] = user }
        mail(email, user, isReset: false)
        return hidesExisting ? .json([:], status: 202) : begin(user, asked, 201)
    }

    @discardableResult
    mutating func addAccount(
        _ user: String, _ email: String?, _ password: String?, _ name: String?, _ username: String?
    ) -> String {
        accounts[user] = InMemoryServer.Registration(
            email: email, password: password, createdAt: tick(), version: nextVersion())
        apply(
            .init(
                displayName: .set(name.map(User.DisplayNameRule.trimmed) ?? User.DisplayNameRule.standard(for: email))),
            to: UserID(user)!)
        if let username { set(username: username, of: user) }
        return user
    }

    private mutating func begin(_ user: String, _ asked: Object, _ status: Int = 200) -> HTTPResponse {
        tokens(addGrant(of: user, asked["device"] as? Object ?? ["kind": "other"]), status)
    }

    mutating func addGrant(of user: String, _ device: Object) -> Int {
        lastGrant += 1
        grants[lastGrant] = InMemoryServer.Grant(user: user, device: device, since: now)
        return lastGrant
    }

    /// The previous token is accepted too; an older one ends the session.
    private mutating func refresh(_ token: String) throws(Refusal) -> HTTPResponse {
        let parts = token.split(separator: "-").dropFirst().compactMap { Int($0) }
        guard parts.count == 2, let grant = grants[parts[0]] else { throw .unauthorized("token_expired") }
        switch grant.counter - parts[1] {
        case 0: grants[parts[0]]!.counter += 1
        case 1: break
        default:
            end(parts[0])
            throw .unauthorized("token_reused")
        }
        return tokens(parts[0], 200)
    }

    private mutating func tokens(_ id: Int, _ status: Int) -> HTTPResponse {
        let grant = grants[id]!
        let access = InMemoryServer.token(["sub": grant.user, "sid": id, "n": Int(nextVersion())])
        return .json(
            [
                "user": grant.user, "accessToken": access, "expiresIn": 3_600_000,
                "refreshToken": "r-\(id)-\(grant.counter)",
                "account": account(grant.user),
            ], status: status)
    }

    mutating func endSessions(of user: String) {
        for id in grants.keys where grants[id]!.user == user { end(id) }
    }

    /// Signs a device out; its connections end.
    mutating func end(_ grant: Int) {
        grants[grant] = nil
        for number in peers.keys where peers[number]!.grant == grant { cut(number) }
    }
}
