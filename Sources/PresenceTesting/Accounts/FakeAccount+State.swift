import Foundation
import PresenceAccounts
import PresenceKit

extension FakeAccount.Record {
    /// The device reads the user.
    mutating func read() { (account.displayName, account.profileImageURL) = (user.displayName, user.profileImageURL) }
}

// The fake's behaviour behind its calls, with the lock held.
extension FakeAccount {
    /// An address as it is stored; `nil` if it is taken and that must not be revealed.
    ///
    /// - Throws: reasons `invalidEmail`, `emailTaken`.
    func checked(email: String) throws -> String? {
        if EmailRule.fault(in: email) != nil {
            throw PresenceError.account(.validationFailed, reason: .invalidEmail, field: "email")
        }
        let email = EmailRule.trimmed(email).lowercased()
        if state.records.values.contains(where: { $0.account.email == email }) {
            if state.hidesExisting { return nil }
            throw PresenceError.account(.conflict, reason: .emailTaken, field: "email")
        }
        return email
    }

    func make(_ address: String, _ password: String, _ name: String, _ username: String?) -> Account {
        state.last += 1
        let id = "u-\(state.last)"
        let account = Account(id: id, email: address, username: username)
        let user = User(id: id, email: address, displayName: name, username: username, isOnline: true)
        state.records[id] = Record(account: account, password: password, user: user)
        return account
    }

    func mail(toNew email: String, of user: String) {
        mail(to: email, isReset: false)
        state.newEmails[state.mails.last!.token] = user
    }

    static func user(of account: Account) -> User {
        User(
            id: account.id, email: account.email, displayName: DisplayNameRule.standard(for: account.email),
            username: account.username, createdAt: account.createdAt)
    }

    func mail(to email: String, isReset: Bool) {
        state.mails.removeAll { $0.email == email && $0.isReset == isReset }
        state.last += 1
        state.mails.append(Mail(email: email, token: "token-\(state.last)", isReset: isReset))
    }

    func mail(_ token: String, isReset: Bool) throws -> Mail {
        guard let mail = state.mails.first(where: { $0.token == token && $0.isReset == isReset }) else {
            throw PresenceError.account(.unauthorized, reason: .tokenExpired)
        }
        return mail
    }

    func change(_ email: String, _ body: (inout Record) -> Void) {
        for id in state.records.keys where state.records[id]!.account.email == email { body(&state.records[id]!) }
    }

    func check(newPassword: String, field: String) throws {
        if let fault = passwordRule.fault(in: newPassword) {
            throw PresenceError.account(.validationFailed, fault, reason: .weakPassword, field: field)
        }
    }

    func check(_ username: String, of user: String?) throws {
        switch availability(of: username, for: user) {
        case .invalid: throw PresenceError.account(.validationFailed, reason: .invalidUsername, field: "username")
        case .reserved: throw PresenceError.account(.validationFailed, reason: .reservedUsername, field: "username")
        case .taken: throw PresenceError.account(.conflict, reason: .usernameTaken, field: "username")
        default: break
        }
    }

    func availability(of username: String, for user: String?) -> UsernameAvailability {
        let name = username.lowercased()
        if UsernameRule.fault(in: username) != nil { return .invalid }
        if state.reserved.contains(name) { return .reserved }
        let owner = state.records.values.first { $0.account.username?.lowercased() == name }
        guard let owner else { return .available }
        return owner.account.id == user ? .yours : .taken
    }
}
