import PresenceProtocol

/// Where the scripts keep the statuses of users that are over, for a feature that wants them (``FeaturePlan/past``).
///
/// They are written by the scripts that change what a user's presence is, in the same step, so they cannot differ from it.
/// Without a feature that wants them, the scripts get no bounds, and do nothing of it.
package struct PastStatuses: Sendable {
    private let family: KeyFamily
    /// `KEEP MOST`, as the scripts read it.
    fileprivate let bounds: String

    /// - Parameters:
    ///   - family: One list for each user, with the intervals as `lib.lua` has them.
    ///   - duration: How long after its end each is kept.
    ///   - most: How many of a user are kept at most.
    package init(in family: KeyFamily, for duration: Milliseconds, most: Int) {
        self.family = family
        bounds = "\(duration) \(most)"
    }

    func key(of user: UserID, in keys: PartitionKeys) -> String { keys.key(family, user) }
}

extension PastStatuses? {
    /// Where a script keeps them; any other key of the partition without the feature.
    package func key(of user: UserID, in keys: PartitionKeys, or other: String) -> String {
        self?.key(of: user, in: keys) ?? other
    }

    /// `KEEP MOST`, or nothing: then a script keeps none.
    package var bounds: String { self?.bounds ?? "" }
}

extension ServerConfiguration {
    /// What the enabled ones among these features keep.
    package func past(of features: [any Feature.Type]) -> PastStatuses? {
        for feature in enabled(features) {
            if let past = feature.plan.past(self) { return past }
        }
        return nil
    }
}
