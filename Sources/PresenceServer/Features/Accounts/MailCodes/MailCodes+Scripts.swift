import CAssets
import PresenceCore

/// The scripts of codes by mail.
extension Script {
    static let askMailCode = change("ask-mail-code", asset_ask_mail_code())
    static let useMailCode = change("use-mail-code", asset_use_mail_code())
    static let enter = change("enter", asset_enter(), deviceLibrary)

    static let mailCodes: [Script] = [.askMailCode, .useMailCode, .enter]
}
