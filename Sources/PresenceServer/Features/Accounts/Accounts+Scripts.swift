import CAssets
import PresenceCore

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
