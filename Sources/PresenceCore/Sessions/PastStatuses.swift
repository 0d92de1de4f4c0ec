import PresenceProtocol

/// Where the scripts keep past statuses of users, for a feature that needs them (``FeaturePlan/past``).
///
/// The scripts that change a user's presence write them in the same step, so the two cannot differ. Without such a
/// feature, the scripts get no bounds and keep none.
package final class PastStatuses: Sendable {
    private let family: KeyFamily
    /// `KEEP MOST`, as the scripts read it.
    fileprivate let bounds: String

    /// - Parameters:
    ///   - family: One list for each user, with the intervals as described in `presence-lib.lua`.
    ///   - duration: How long an entry is kept after its end.
    ///   - most: The maximum number of entries for a user.
    package init(in family: KeyFamily, for duration: Milliseconds, most: Int) {
        self.family = family
        bounds = "\(duration) \(most)"
    }

    func key(of user: UserID, in keys: PartitionKeys) -> String { keys.key(family, user) }
}

extension PastStatuses? {
    /// The list's key; without the feature, any other key of the partition.
    package func key(of user: UserID, in keys: PartitionKeys, or other: String) -> String {
        self?.key(of: user, in: keys) ?? other
    }

    /// `KEEP MOST`; empty if none are kept.
    package var bounds: String { self?.bounds ?? "" }
}

extension ServerConfiguration {
    /// The past statuses of the one enabled feature that keeps any.
    package func past(of features: [any Feature.Type]) -> PastStatuses? {
        for feature in enabled(features) {
            if let past = feature.plan.past(self) { return past }
        }
        return nil
    }
}
