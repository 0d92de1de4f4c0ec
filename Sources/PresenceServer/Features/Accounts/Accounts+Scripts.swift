import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature.
extension Script {
    private static let guessLibrary = ScriptLibrary(asset_guess_lib())
    static let accountLibrary = ScriptLibrary(asset_account_lib())
    static let deviceLibrary = accountLibrary + ScriptLibrary(asset_device_lib())
    /// The library of scripts that change accounts and profiles.
    static let fullLibrary = profileLibrary + accountLibrary

    /// A script that changes an account.
    static func change(
        _ name: String, _ file: asset, _ library: ScriptLibrary = accountLibrary
    ) -> Script {
        Script(name, file, library: library, isAcknowledged: true)
    }

    static let signUp = change("sign-up", asset_sign_up(), ClaimPlan.library + fullLibrary)
    static let guess = Script("guess", asset_guess(), library: guessLibrary)
    static let takeBackGuess = Script("take-back-guess", asset_take_back_guess(), library: guessLibrary)
    static let signIn = change("sign-in", asset_sign_in(), deviceLibrary)
    static let refreshGrant = change("refresh-grant", asset_refresh_grant())
    static let signOut = change("sign-out", asset_sign_out())
    static let account = Script("account", asset_account(), library: accountLibrary)
    static let changeAccount = change("change-account", asset_change_account(), fullLibrary)
    static let askEmail = change("ask-email", asset_ask_email())
    static let deleteAccount = change(
        "delete-account", asset_delete_account(), ClaimPlan.library + fullLibrary + askedLibrary)
    static let disableAccount = change("disable-account", asset_disable_account())
    static let emailState = Script("email-state", asset_email_state())
    static let endEmail = change("end-email", asset_end_email())
    static let forgot = change("forgot", asset_forgot())
    static let holdsClaim = change("holds-claim", asset_holds_claim())
    static let releaseClaim = change("release-claim", asset_release_claim())
    static let resetPassword = change("reset-password", asset_reset_password())
    static let settleMail = Script("settle-mail", asset_settle_mail(), library: accountLibrary)
    static let setPassword = change("set-password", asset_set_password())
    static let switchEmail = change("switch-email", asset_switch_email())
    static let takeClaim = change("take-claim", asset_take_claim())
    static let takeMail = Script("take-mail", asset_take_mail(), library: accountLibrary)
    static let tellExisting = change("tell-existing", asset_tell_existing())
    static let verifyEmail = change("verify-email", asset_verify_email())
    static let wantEmail = change("want-email", asset_want_email())

    static let accounts: [Script] =
        [
            .signUp, .guess, .takeBackGuess, .signIn, .refreshGrant, .signOut, .account, .changeAccount,
            .askEmail, .deleteAccount, .disableAccount, .emailState, .endEmail, .forgot, .holdsClaim, .releaseClaim,
            .resetPassword, .setPassword, .settleMail, .switchEmail, .takeClaim, .takeMail, .tellExisting, .verifyEmail,
            .wantEmail,
        ] + guests + mailCodes + identities
}

/// The keys of accounts. README.md beside this file has the contents of each.
extension KeyFamily {
    /// The owners of a bucket of addresses. A bucket's partition is the one of its addresses' hash, and so is the partition of
    /// a user who signs up with the address.
    static let email = KeyFamily(name: "email", isPassing: false, type: "hash", isPlacedApart: true)
    /// The signed-in devices.
    static let grants = KeyFamily(name: "grants", isPassing: false, type: "hash")
    /// Failed passwords for an address, under its hash, so that guesses do not store addresses.
    static let guesses = KeyFamily(
        name: "guesses", isPassing: true, type: "string", expires: true, isPlacedApart: true)
    /// The mails to be sent.
    static let mail = KeyFamily(name: "mail", isPassing: false, type: "list", isOfPartition: true)
    /// The mails that a server has leased, by the time from which another server may lease them.
    static let mailing = KeyFamily(name: "mailing", isPassing: false, type: "zset", isOfPartition: true)

    /// The guests, by the time of their last use.
    static let guests = KeyFamily(name: "guests", isPassing: false, type: "zset", isOfPartition: true)

    /// The code that was mailed to an address, under its hash.
    static let codes = KeyFamily(name: "codes", isPassing: true, type: "hash", expires: true, isPlacedApart: true)

    /// The owners of a bucket of providers' identities, by the digest of issuer and subject, which chooses the partition.
    static let identities = KeyFamily(name: "identity", isPassing: false, type: "hash", isPlacedApart: true)

    /// The identity behind a code that a browser has got, under the code's hash.
    static let signInCodes = KeyFamily(
        name: "signin", isPassing: true, type: "string", expires: true, isPlacedApart: true)

    static let accounts: [KeyFamily] = [
        .email, .grants, .guesses, .mail, .mailing, .guests, .codes, .identities, .signInCodes,
    ]
}

extension PartitionKeys {
    /// The hash that contains the owner of an address.
    func emails(with address: EmailAddress) -> String { bucket(.email, of: address.text) }
    /// The hash that contains the owner of an identity, by its digest.
    func identities(with digest: String) -> String { bucket(.identities, of: digest) }
    /// An account is stored in its user's hash, because each key costs Redis 100 bytes.
    func account(_ id: UserID) -> String { user(id) }
    func guesses(_ id: Identifier) -> String { key(.guesses, id) }
    func codes(_ id: Identifier) -> String { key(.codes, id) }
    func signInCode(_ id: Identifier) -> String { key(.signInCodes, id) }
    var mail: String { "\(name):mail" }
    var mailing: String { "\(name):mailing" }
    var guests: String { "\(name):guests" }
}
