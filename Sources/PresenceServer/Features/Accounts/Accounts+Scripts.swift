import CAssets
import PresenceCore

/// The scripts of this folder's feature.
extension Script {
    private static let guessLibrary = ScriptLibrary(asset_guess_lib())
    private static let accountLibrary = ScriptLibrary(asset_account_lib())
    /// What changes accounts and profiles.
    static let fullLibrary = profileLibrary + accountLibrary

    static let signUp = Script(
        "sign-up", asset_sign_up(), library: ClaimPlan.library + fullLibrary, isAcknowledged: true)
    static let guess = Script("guess", asset_guess(), library: guessLibrary)
    static let takeBackGuess = Script("take-back-guess", asset_take_back_guess(), library: guessLibrary)
    static let signIn = Script("sign-in", asset_sign_in(), library: accountLibrary, isAcknowledged: true)
    static let refreshGrant = Script(
        "refresh-grant", asset_refresh_grant(), library: accountLibrary, isAcknowledged: true)
    static let signOut = Script("sign-out", asset_sign_out(), library: accountLibrary, isAcknowledged: true)
    static let account = Script("account", asset_account(), library: accountLibrary)
    static let changeAccount = Script(
        "change-account", asset_change_account(), library: fullLibrary, isAcknowledged: true)
    static let askEmail = Script(
        "ask-email", asset_ask_email(), library: accountLibrary, isAcknowledged: true)
    static let deleteAccount = Script(
        "delete-account", asset_delete_account(), library: ClaimPlan.library + accountLibrary,
        isAcknowledged: true)
    static let disableAccount = Script(
        "disable-account", asset_disable_account(), library: accountLibrary, isAcknowledged: true)
    static let emailState = Script("email-state", asset_email_state())
    static let endEmail = Script("end-email", asset_end_email(), isAcknowledged: true)
    static let forgot = Script(
        "forgot", asset_forgot(), library: accountLibrary, isAcknowledged: true)
    static let holdsClaim = Script(
        "holds-claim", asset_holds_claim(), library: accountLibrary, isAcknowledged: true)
    static let releaseClaim = Script("release-claim", asset_release_claim(), isAcknowledged: true)
    static let resetPassword = Script(
        "reset-password", asset_reset_password(), library: accountLibrary, isAcknowledged: true)
    static let settleMail = Script("settle-mail", asset_settle_mail(), library: accountLibrary)
    static let setPassword = Script(
        "set-password", asset_set_password(), library: accountLibrary, isAcknowledged: true)
    static let switchEmail = Script(
        "switch-email", asset_switch_email(), library: accountLibrary, isAcknowledged: true)
    static let takeClaim = Script("take-claim", asset_take_claim(), isAcknowledged: true)
    static let takeMail = Script("take-mail", asset_take_mail(), library: accountLibrary)
    static let tellExisting = Script(
        "tell-existing", asset_tell_existing(), library: accountLibrary, isAcknowledged: true)
    static let verifyEmail = Script(
        "verify-email", asset_verify_email(), library: accountLibrary, isAcknowledged: true)
    static let wantEmail = Script(
        "want-email", asset_want_email(), library: accountLibrary, isAcknowledged: true)

    static let accounts: [Script] = [
        .signUp, .guess, .takeBackGuess, .signIn, .refreshGrant, .signOut, .account, .changeAccount,
        .askEmail, .deleteAccount, .disableAccount, .emailState, .endEmail, .forgot, .holdsClaim, .releaseClaim,
        .resetPassword, .setPassword, .settleMail, .switchEmail, .takeClaim, .takeMail, .tellExisting, .verifyEmail,
        .wantEmail,
    ]
}
