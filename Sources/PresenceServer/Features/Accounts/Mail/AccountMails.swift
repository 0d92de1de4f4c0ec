import Foundation
import PresenceCore
import PresenceProtocol

/// The mails to users. A link begins with the configured address, never with one from a request. Its token is behind the #,
/// which browsers do not send to servers.
enum AccountMails {
    static func verification(of email: EmailAddress, _ token: MailToken, _ accounts: Accounts) -> Mail {
        accounts.makeMail(.verifyEmail, to: email, token.user, ["link": accounts.link("verify", token)])
    }

    static func reset(of email: EmailAddress, _ token: MailToken, _ accounts: Accounts) -> Mail {
        accounts.makeMail(.resetPassword, to: email, token.user, ["link": accounts.link("reset", token)])
    }

    static func change(to email: EmailAddress, _ token: MailToken, _ accounts: Accounts) -> Mail {
        accounts.makeMail(.changeEmail, to: email, token.user, ["link": accounts.link("verify", token)])
    }

    static func signIn(_ email: EmailAddress, _ code: MailCode, _ accounts: Accounts) -> Mail {
        let link = accounts.link("signin", "email=\(code.escaped(email))&token=\(code.token)")
        return accounts.makeMail(.signInCode, to: email, nil, ["code": code.digits, "link": link])
    }

    /// Sent to the owner of an account whose address was used for a sign-up; the caller does not learn that the account exists.
    static func existing(_ email: EmailAddress, _ accounts: Accounts) -> Mail {
        accounts.makeMail(.accountExists, to: email, nil)
    }

    // MARK: To the account's owner. The script of the change puts the address in its place: `notifyOwner` in account-lib.lua.

    /// Sent to the old address, because an attacker who took over the account has the new one.
    static func addressChanged(of user: UserID, _ accounts: Accounts) -> String {
        unaddressed(accounts.makeMail(.emailChanged, to: .nobody, user))
    }

    static func identityAdded(by provider: String, of user: UserID, _ accounts: Accounts) -> String {
        unaddressed(accounts.makeMail(.identityAdded, to: .nobody, user, ["provider": provider]))
    }

    static func identityRemoved(by provider: String, of user: UserID, _ accounts: Accounts) -> String {
        unaddressed(accounts.makeMail(.identityRemoved, to: .nobody, user, ["provider": provider]))
    }

    static func passwordChanged(of user: UserID, _ accounts: Accounts) -> String {
        unaddressed(accounts.makeMail(.passwordChanged, to: .nobody, user))
    }

    static func newDevice(_ device: SigningDevice, of user: UserID, _ accounts: Accounts) -> String {
        let date = Date(timeIntervalSince1970: Double(accounts.shard.clock.redisNow) / 1_000)
        let time = date.formatted(.iso8601.dateTimeSeparator(.space)).replacing("Z", with: " UTC")
        let mail = accounts.makeMail(
            .newDevice, to: .nobody, user, ["device": device.shownName, "time": time])
        return unaddressed(mail)
    }

    /// With the line `*` in place of the address.
    private static func unaddressed(_ mail: Mail) -> String {
        mail.encoded.replacing("\n\(mail.to)\n", with: "\n*\n", maxReplacements: 1)
    }
}

extension Accounts {
    fileprivate func makeMail(
        _ kind: MailKind, to email: EmailAddress, _ user: UserID?, _ values: [String: String] = [:]
    ) -> Mail {
        let (subject, text, _) = kind.builtIn.filled(values)
        return Mail(
            id: "\(shard.clock.redisNow)-\(shard.randomName())", to: email, subject: subject, text: text,
            MailContents(kind, user: user, values))
    }

    fileprivate func link(_ page: String, _ token: MailToken) -> String { link(page, "token=\(token.text)") }

    fileprivate func link(_ page: String, _ fragment: String) -> String {
        let setting = shard.configuration[Accounts.linkBase]
        let base = setting.isEmpty ? shard.configuration.ownURL : setting
        return (base.hasSuffix("/") ? base : base + "/") + "\(page)#\(fragment)"
    }
}
