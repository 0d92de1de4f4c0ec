import PresenceAccounts
import PresenceModels

extension ProfileSetupModel {
    /// Whether a user has not been through the first form yet: neither saved nor skipped it, on any device. It is noted where
    /// the model is made with the account as its `setup`.
    public static func isNeeded(for account: Account) -> Bool { !account.setupCompleted }
}
