import Foundation
import PresenceKit
import PresenceProtocol

// The values of accounts, and their rules (docs/protocol.md, section 14).
extension InMemoryServer.State {
    func account(_ user: String) -> Object {
        let held = accounts[user]!
        var account: Object = [
            "user": user, "emailVerified": held.emailVerified, "setupCompleted": held.setupCompleted,
            "createdAt": Int(held.createdAt),
        ]
        account["email"] = held.email
        if held.email == nil { account["guest"] = true }
        account["username"] = held.username
        account["preferredLanguage"] = held.preferredLanguage
        return account
    }

    func me(_ user: String) -> HTTPResponse { .json(["account": account(user), "profile": profile(user)]) }

    func profile(_ user: String) -> Object {
        guard case .profile(let profile)? = UserID(user).flatMap({ users[$0]?.profile }) else { return [:] }
        return InMemoryServer.object(ServerMessage.profileUpdated(id: nil, profile).encoded())?["profile"] as? Object
            ?? [:]
    }

    mutating func change(_ user: String, _ body: (inout InMemoryServer.Registration) -> Void) {
        guard accounts[user] != nil else { return }
        body(&accounts[user]!)
        accounts[user]!.version = nextVersion()
    }

    /// Changes account and profile: all of the changes or none.
    mutating func change(_ changes: Object, _ body: Data, of user: String) throws(Refusal) {
        // The profile's rules, as for the same request over a WebSocket.
        var text = Array(#"{"type":"updateProfile","#.utf8)
        text += body.drop { $0 == UInt8(ascii: "{") }
        let message: ClientMessage
        do throws(DecodingFailure) { message = try ClientMessage.decode(text) } catch { throw error.errorMessage }
        guard case .updateProfile(let profile) = message.body else { return }
        if profile != .init() { apply(profile, to: UserID(user)!) }
        let language = changes["preferredLanguage"] as? String
        let isRemoved = String(decoding: body, as: UTF8.self).contains(#""preferredLanguage":null"#)
        change(user) { account in
            if language != nil || isRemoved { account.preferredLanguage = language }
            if let isDone = changes["setupCompleted"] as? Bool { account.setupCompleted = isDone }
        }
    }

    mutating func set(username: String?, of user: String) {
        change(user) { $0.username = username }
        changeProfile(of: user) { $0.username = username }
    }

    mutating func setPhoto(_ url: String?, _ thumbnail: String?, of user: String) {
        changeProfile(of: user) { ($0.photoURL, $0.thumbnailURL) = (url, thumbnail) }
    }

    mutating func changeProfile(of user: String, _ body: (inout Profile) -> Void) {
        var profile = apply(.init(), to: UserID(user)!)
        body(&profile)
        users[UserID(user)!]!.profile = .profile(profile)
    }

    // MARK: Rules

    mutating func mail(_ email: String, _ user: String, isReset: Bool, password: String? = nil) {
        mails.removeAll { $0.email == email && $0.isReset == isReset }
        mails.append(
            InMemoryServer.Mail(
                email: email, user: user, token: "token-\(nextVersion())", isReset: isReset, password: password))
    }

    func mail(_ asked: Object, isReset: Bool) throws(Refusal) -> InMemoryServer.Mail {
        guard let mail = mails.first(where: { $0.token == asked["token"] as? String && $0.isReset == isReset }) else {
            throw .unauthorized("token_expired")
        }
        return mail
    }

    func checked(_ email: String) throws(Refusal) -> String {
        guard User.EmailRule.fault(in: email) == nil else { throw .invalid("email", "invalid_email") }
        return User.EmailRule.trimmed(email).lowercased()
    }

    func checkFree(_ email: String) throws(Refusal) {
        guard !accounts.values.contains(where: { $0.email == email }) else {
            throw Refusal(code: .conflict, message: "taken", field: "email", reason: "email_taken")
        }
    }

    /// - Returns: `false` if it is taken, and that must not be revealed.
    func isFree(_ email: String) throws(Refusal) -> Bool {
        if hidesExisting { return !accounts.values.contains { $0.email == email } }
        try checkFree(email)
        return true
    }

    func check(_ asked: Object, _ user: String) throws(Refusal) {
        let isDeletion = asked["type"] as? String == "DELETE /v1/me"
        if accounts[user]?.password == nil, !isDeletion { throw .conflict("no_password") }
        guard accounts[user]?.password == asked["password"] as? String else { throw .invalidCredentials }
    }

    func check(newPassword: String, _ field: String) throws(Refusal) {
        if User.PasswordRule().fault(in: newPassword) != nil { throw .invalid(field, "weak_password") }
    }

    func check(username: String, of user: String?) throws(Refusal) {
        switch availability(of: username, for: user) {
        case "invalid": throw .invalid("username", "invalid_username")
        case "reserved": throw .invalid("username", "reserved_username")
        case "taken": throw Refusal(code: .conflict, message: "taken", field: "username", reason: "username_taken")
        default: break
        }
    }

    /// Why a name is not available; `nil` if it is.
    func availability(of username: String, for user: String?) -> String? {
        let name = username.lowercased()
        if User.UsernameRule.fault(in: username) != nil { return "invalid" }
        if ["admin", "root", "support"].contains(name) { return "reserved" }
        let owner = accounts.first { $0.value.username?.lowercased() == name }?.key
        return owner.map { $0 == user ? "yours" : "taken" }
    }
}

extension ServerMessage.ErrorMessage {
    static func unauthorized(_ reason: String?) -> Self { Self(code: .unauthorized, message: "no", reason: reason) }
    static var invalidCredentials: Self {
        Self(code: .unauthorized, message: "no", field: "password", reason: "invalid_credentials")
    }
    static func conflict(_ reason: String) -> Self { Self(code: .conflict, message: "no", reason: reason) }
    static func invalid(_ field: String, _ reason: String?) -> Self {
        Self(code: .validationFailed, message: "not valid", field: field, reason: reason)
    }
}
