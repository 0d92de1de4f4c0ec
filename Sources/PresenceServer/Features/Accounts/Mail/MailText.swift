import PresenceCore
import PresenceProtocol

/// What mails say. A link begins with the configured address, never with what a request names, and has its token behind the
/// #: browsers send that to nobody.
enum MailText {
    static func verification(of email: EmailAddress, _ token: MailToken, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Confirm your email address",
            """
            Hello,

            please confirm that this email address is yours:

                \(accounts.link("verify", token))

            The link works once, within 30 minutes. If you did not sign up, ignore this mail.

            """)
    }

    static func reset(of email: EmailAddress, _ token: MailToken, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Reset your password",
            """
            Hello,

            somebody, probably you, wants to reset the password of this account:

                \(accounts.link("reset", token))

            The link works once, within 30 minutes. Your password stays as it is until you choose another one there. If you
            did not ask for this, ignore this mail.

            """)
    }

    static func change(to email: EmailAddress, _ token: MailToken, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Confirm your new email address",
            """
            Hello,

            please confirm that this is the new email address of your account:

                \(accounts.link("verify", token))

            The link works once, within 30 minutes. If you did not ask for this, ignore this mail.

            """)
    }

    /// Somebody has signed up with an address that has an account, and is not told so.
    static func existing(_ email: EmailAddress, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "You have an account already",
            """
            Hello,

            somebody, probably you, has signed up with this email address. It has an account already: sign in, or reset your
            password. If it was not you, ignore this mail.

            """)
    }

    /// To the old address: who took the account over has the new one.
    static func addressChanged(from email: EmailAddress, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Your email address was changed",
            """
            Hello,

            your account has another email address now; this one is no longer used for it. If it was not you, write to those
            who run the app.

            """)
    }

    static func passwordChanged(_ email: EmailAddress, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Your password was changed",
            """
            Hello,

            the password of your account was changed, and other devices were signed out. If it was not you, reset your
            password now.

            """)
    }
}

extension Accounts {
    fileprivate func makeMail(to email: EmailAddress, subject: String, _ text: String) -> Mail {
        Mail(id: "\(shard.clock.redisNow)-\(shard.randomName())", to: email, subject: subject, text: text)
    }

    fileprivate func link(_ page: String, _ token: MailToken) -> String {
        let setting = shard.configuration[Accounts.linkBase]
        let base = setting.isEmpty ? shard.configuration.publicAddress : setting
        return (base.hasSuffix("/") ? base : base + "/") + "\(page)#token=\(token.text)"
    }
}
