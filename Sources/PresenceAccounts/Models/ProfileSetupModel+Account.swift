import PresenceKit

extension ProfileSetupModel {
    /// Whether a user has neither saved nor skipped the first form, on any device. It is stored if the model has the
    /// account as its `setup`.
    public static func isNeeded(for account: Account) -> Bool { !account.setupCompleted }
}
