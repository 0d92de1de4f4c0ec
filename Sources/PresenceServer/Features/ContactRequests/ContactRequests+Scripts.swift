import CAssets
import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// The requests between a user and others (`asked-lib.lua`).
    static let asked = KeyFamily(name: "asked", isPassing: false, type: "hash", expires: true)
}

extension Script {
    private static func changing(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: policyLibrary + askedLibrary, isAcknowledged: true)
    }

    static let askContact = changing("ask-contact", asset_ask_contact())
    static let answerContact = changing("answer-contact", asset_answer_contact())
    static let asking = Script(
        "asking", asset_asking(), library: profileLibrary + policyLibrary + askedLibrary, isAcknowledged: true)
    static let deliverAsked = changing("deliver-asked", asset_deliver_asked())
    static let withdrawAsked = changing("withdraw-asked", asset_withdraw_asked())
    static let acceptAsked = changing("accept-asked", asset_accept_asked())
    static let forgetAsked = changing("forget-asked", asset_forget_asked())
}
