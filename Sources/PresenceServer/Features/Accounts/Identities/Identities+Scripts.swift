import CAssets
import PresenceCore

/// The scripts of providers' identities.
extension Script {
    static let wantIdentity = change("want-identity", asset_want_identity())
    static let addIdentity = change("add-identity", asset_add_identity())
    static let holdsIdentity = change("holds-identity", asset_holds_identity())
    static let identityState = change("identity-state", asset_identity_state())
    static let endIdentity = change("end-identity", asset_end_identity())
    static let dropIdentities = change("drop-identities", asset_drop_identities())
    static let enterIdentity = change("enter-identity", asset_enter_identity(), deviceLibrary)
    static let endConsent = change("end-consent", asset_end_consent())
    static let signUpIdentity = change("sign-up-identity", asset_sign_up_identity(), fullLibrary)

    static let identities: [Script] = [
        .wantIdentity, .addIdentity, .holdsIdentity, .identityState, .endIdentity, .dropIdentities,
        .enterIdentity, .endConsent, .signUpIdentity,
    ]
}
