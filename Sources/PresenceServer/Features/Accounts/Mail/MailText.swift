import PresenceCore
import PresenceProtocol

/// The texts of mails. A link begins with the configured address, never with one from a request. Its token is behind the #,
/// which browsers do not send to servers.
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

            someone, probably you, asked to reset the password of this account:

                \(accounts.link("reset", token))

            The link works once, within 30 minutes. Your password does not change until you choose a new one there. If you
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

    static func signIn(_ email: EmailAddress, _ code: MailCode, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Your code to sign in",
            """
            Hello,

            this code signs you in:

                \(code.digits)

            You can also open this link on the device that you want to use:

                \(accounts.link("signin", "email=\(code.escaped(email))&token=\(code.token)"))

            They work once, within 10 minutes. After five wrong tries with a code, only the link works. Do not give them
            to anyone. If you did not ask for this, ignore this mail.

            """)
    }

    /// Sent to the owner of an account whose address was used for a sign-up; the caller does not learn that the account exists.
    static func existing(_ email: EmailAddress, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "You already have an account",
            """
            Hello,

            someone, probably you, tried to sign up with this email address. It already has an account: sign in, or reset your
            password. If this was not you, ignore this mail.

            """)
    }

    /// Sent to the old address, because an attacker who took over the account has the new one.
    static func addressChanged(from email: EmailAddress, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Your email address was changed",
            """
            Hello,

            your account now has another email address; this one is no longer used for it. If this was not you, contact the
            operators of the app.

            """)
    }

    static func identityAdded(_ email: EmailAddress, by provider: String, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "A new way to sign in",
            """
            Hello,

            from now on, signing in with \(provider) opens your account. If this was not you, reset your password now: this
            signs out all devices, and takes this way to sign in away.

            """)
    }

    static func passwordChanged(_ email: EmailAddress, _ accounts: Accounts) -> Mail {
        accounts.makeMail(
            to: email, subject: "Your password was changed",
            """
            Hello,

            the password of your account was changed, and other devices were signed out. If this was not you, reset your
            password now.

            """)
    }
}

extension Accounts {
    fileprivate func makeMail(to email: EmailAddress, subject: String, _ text: String) -> Mail {
        Mail(id: "\(shard.clock.redisNow)-\(shard.randomName())", to: email, subject: subject, text: text)
    }

    fileprivate func link(_ page: String, _ token: MailToken) -> String { link(page, "token=\(token.text)") }

    fileprivate func link(_ page: String, _ fragment: String) -> String {
        let setting = shard.configuration[Accounts.linkBase]
        let base = setting.isEmpty ? shard.configuration.publicAddress : setting
        return (base.hasSuffix("/") ? base : base + "/") + "\(page)#\(fragment)"
    }
}
