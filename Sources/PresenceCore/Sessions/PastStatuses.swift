import PresenceProtocol

/// Where the scripts keep the statuses of users that are over, for a feature that wants them (``FeaturePlan/past``).
///
/// They are written by the scripts that change what a user's presence is, in the same step, so they cannot differ from it.
/// Without a feature that wants them, the scripts get neither key nor bounds, and do nothing of it.
package struct PastStatuses: Sendable {
    private let family: KeyFamily
    /// `KEEP MOST`, as the scripts read it.
    private let bounds: String

    /// - Parameters:
    ///   - family: One list for each user, with the intervals as `lib.lua` has them.
    ///   - duration: How long after its end each is kept.
    ///   - most: How many of a user are kept at most.
    package init(in family: KeyFamily, for duration: Milliseconds, most: Int) {
        self.family = family
        bounds = "\(duration) \(most)"
    }

    func key(of user: UserID, in keys: PartitionKeys) -> String { keys.key(family, user) }

    fileprivate var words: [String] { [bounds] }
}

extension PastStatuses? {
    /// What a script gets as its last keys: one for each user.
    package func keys(of users: [UserID], in keys: PartitionKeys) -> [String] {
        map { past in users.map { past.key(of: $0, in: keys) } } ?? []
    }

    /// A script's keys with the last one; without the feature no other array is made of them.
    package func keys(after others: consuming [String], of user: UserID, in keys: PartitionKeys) -> [String] {
        if let past = self { others.append(past.key(of: user, in: keys)) }
        return others
    }

    /// A script's arguments with the last one, likewise.
    package func arguments(after others: consuming [String]) -> [String] {
        others += arguments
        return others
    }

    /// What a script gets as its last argument.
    package var arguments: [String] { map(\.words) ?? [] }
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
