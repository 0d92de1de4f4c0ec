import Installation
import PresenceProtocol

/// A number that a feature lets operators set. `config/presenced.yaml` has each with its sentence.
public struct FeatureSetting: Sendable, Hashable {
    public enum Unit: Sendable {
        case count, milliseconds
        var suffix: String { self == .milliseconds ? " ms" : "" }
    }

    /// The path in the configuration file, `FEATURE.NAME`.
    public let key: String
    public let unit: Unit
    public let standard: Int64
    public let range: ClosedRange<Int64>
    /// What it does, and what larger and smaller values change.
    public let about: String

    package static func duration(
        _ key: String, _ standard: Milliseconds,
        in range: ClosedRange<Milliseconds> = 1...ServerConfiguration.longestDuration, about: String
    ) -> FeatureSetting {
        FeatureSetting(key: key, unit: .milliseconds, standard: standard, range: range, about: about)
    }

    package static func count(_ key: String, _ standard: Int, in range: ClosedRange<Int>, about: String)
        -> FeatureSetting
    {
        FeatureSetting(
            key: key, unit: .count, standard: Int64(standard),
            range: Int64(range.lowerBound)...Int64(range.upperBound), about: about)
    }
}

extension ServerConfiguration {
    /// The value of a feature's setting.
    public subscript(setting: FeatureSetting) -> Int64 {
        get { featureValues[setting.key] ?? setting.standard }
        set { featureValues[setting.key] = newValue == setting.standard ? nil : newValue }
    }

    /// - Throws: what is wrong with the first value that is out of its range.
    func validate(_ settings: [FeatureSetting]) throws(InvalidConfiguration) {
        for setting in settings where !setting.range.contains(self[setting]) {
            throw InvalidConfiguration(
                key: setting.key,
                reason: "is \(self[setting])\(setting.unit.suffix), but must be from \(setting.range.lowerBound) to "
                    + "\(setting.range.upperBound)\(setting.unit.suffix)")
        }
    }
}
