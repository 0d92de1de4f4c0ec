import Installation
import PresenceProtocol

/// A number, a switch, a text or a list that operators can set for a feature. `config/presenced.yaml` describes each.
public struct FeatureSetting: Sendable, Hashable {
    public enum Unit: Sendable {
        case count, milliseconds
        /// On is 1, off is 0.
        case flag
        /// A text, or one of a few words.
        case text
        /// A list of mappings; in the environment each is one text with its columns in order, separated by spaces.
        case rows
        var suffix: String { self == .milliseconds ? " ms" : "" }
    }

    /// The path in the configuration file, `FEATURE.NAME`.
    public let key: String
    public let unit: Unit
    public let standard: Int64
    /// For a text; otherwise empty.
    public var standardText = ""
    /// The allowed texts, if there are only a few.
    public var words: [String] = []
    /// For a list of mappings: the keys of each. The last one's value is a list of texts, and may be missing.
    public var columns: [String] = []
    public let range: ClosedRange<Int64>
    /// Its effect, and that of larger and smaller values.
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

extension FeatureSetting {
    package static func flag(_ key: String, _ standard: Bool, about: String) -> FeatureSetting {
        FeatureSetting(key: key, unit: .flag, standard: standard ? 1 : 0, range: 0...1, about: about)
    }

    /// - Parameter words: The allowed texts; `[]` for any.
    package static func text(_ key: String, _ standard: String, of words: [String] = [], about: String)
        -> FeatureSetting
    {
        FeatureSetting(
            key: key, unit: .text, standard: 0, standardText: standard, words: words, range: 0...0, about: about)
    }

    /// - Parameter columns: The keys of each mapping in the list; the value of the last one is itself a list.
    package static func rows(_ key: String, columns: [String], about: String) -> FeatureSetting {
        FeatureSetting(key: key, unit: .rows, standard: 0, columns: columns, range: 0...0, about: about)
    }
}

extension ServerConfiguration {
    /// The value of a feature's setting.
    public subscript(setting: FeatureSetting) -> Int64 {
        get { featureValues[setting.key] ?? setting.standard }
        set { featureValues[setting.key] = newValue == setting.standard ? nil : newValue }
    }

    /// Whether a feature's switch is on.
    package func isOn(_ setting: FeatureSetting) -> Bool { self[setting] != 0 }

    /// The value of a feature's text setting.
    public subscript(text setting: FeatureSetting) -> String {
        get { featureTexts[setting.key] ?? setting.standardText }
        set { featureTexts[setting.key] = newValue == setting.standardText ? nil : newValue }
    }

    /// The rows of a feature's list setting: the columns of each, separated by spaces.
    public subscript(rows setting: FeatureSetting) -> [String] {
        get { featureRows[setting.key] ?? [] }
        set { featureRows[setting.key] = newValue.isEmpty ? nil : newValue }
    }

    /// - Throws: The first setting whose value is out of range.
    func validate(_ settings: [FeatureSetting]) throws(InvalidConfiguration) {
        for setting in settings where !setting.words.isEmpty && !setting.words.contains(self[text: setting]) {
            throw InvalidConfiguration(
                key: setting.key, reason: "must be one of " + setting.words.joined(separator: ", "))
        }
        for setting in settings where !setting.range.contains(self[setting]) {
            throw InvalidConfiguration(
                key: setting.key,
                reason: "is \(self[setting])\(setting.unit.suffix), but must be from \(setting.range.lowerBound) to "
                    + "\(setting.range.upperBound)\(setting.unit.suffix)")
        }
    }
}
