import Installation
import PresenceProtocol

/// A setting, declared once: its key, type, range, default and description.
///
/// The configuration file, the environment, the checks and the help of flags are derived from it. config/presenced.yaml has
/// each with its `about` above it. The core's settings are properties of ``ServerConfiguration``, because shards read
/// them with every request; a feature declares its own as static properties, and lists them in its ``FeaturePlan``.
package struct Setting<Value: SettingValue>: AnySetting {
    /// The path in the configuration file, `heartbeat.interval`; of a feature `FEATURE.NAME`.
    package let key: String
    /// Its effect, and that of larger and smaller values.
    package let about: String
    package let columns: [String]
    package let standard: Value
    private let range: ClosedRange<Int64>?
    fileprivate let get: @Sendable (ServerConfiguration) -> Value
    fileprivate let set: @Sendable (inout ServerConfiguration, Value) -> Void

    /// A setting of the core. Its default is the one of the property.
    // Copies of it for all settings would take seconds to compile.
    @inline(never)
    init(
        _ key: String, _ path: WritableKeyPath<ServerConfiguration, Value> & Sendable,
        in range: ClosedRange<Int64>? = Value.range, about: String
    ) {
        (self.key, self.about, self.range, columns) = (key, about, range, [])
        standard = ServerConfiguration()[keyPath: path]
        get = { $0[keyPath: path] }
        set = { $0[keyPath: path] = $1 }
    }

    /// A setting of a feature.
    ///
    /// - Parameters:
    ///   - range: The valid range of a number, or of a duration in milliseconds.
    ///   - columns: For a list of mappings: the keys of each. The last one's value is a list of texts, and may be missing.
    ///     The value has a text for each mapping: its columns in order, separated by spaces.
    ///     If a column is marked, `NAME?` for one that may be missing or `NAME[]` for a list, all are named: `NAME=VALUE …`.
    @inline(never)
    package init(
        _ key: String, _ standard: Value, in range: ClosedRange<Int64>? = Value.range, columns: [String] = [],
        about: String
    ) {
        (self.key, self.about, self.range, self.columns, self.standard) = (key, about, range, columns, standard)
        get = { $0.featureValues.byKey[key] as? Value ?? standard }
        set = { $0.featureValues.byKey[key] = $1 == standard ? nil : $1 }
    }

    package var isList: Bool { Value.isList }

    package func read(_ texts: [String], into configuration: inout ServerConfiguration) throws(SettingMistake) {
        set(&configuration, try Value(setting: texts))
    }

    package func write(_ configuration: ServerConfiguration) -> [String] { get(configuration).settingTexts }

    package func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        guard let range, let number = get(configuration).number, !range.contains(number) else { return }
        throw InvalidConfiguration(
            key: key,
            reason:
                "is \(number)\(Value.unit), but must be from \(range.lowerBound) to \(range.upperBound)\(Value.unit)")
    }
}

/// A ``Setting`` of any type.
package protocol AnySetting: Sendable {
    var key: String { get }
    var about: String { get }
    /// Whether the value in the file is a list.
    var isList: Bool { get }
    /// For a list of mappings: the keys of each.
    var columns: [String] { get }

    /// Sets the value from its texts: exactly one, unless the setting is a list.
    func read(_ texts: [String], into configuration: inout ServerConfiguration) throws(SettingMistake)

    /// The texts that would set the value that `configuration` has.
    func write(_ configuration: ServerConfiguration) -> [String]

    /// - Throws: ``InvalidConfiguration`` if the value is out of range.
    func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration)
}

extension AnySetting {
    /// The environment variable that sets it: `PRESENCE_HEARTBEAT_INTERVAL`.
    package var variable: String {
        var name = "PRESENCE_"
        var previous: Character = " "
        for character in key {
            if previous.isLowercase, character.isUppercase { name += "_" }
            name += character == "." ? "_" : character.uppercased()
            previous = character
        }
        return name
    }
}

extension ServerConfiguration {
    /// The value of a setting.
    package subscript<Value>(setting: Setting<Value>) -> Value {
        get { setting.get(self) }
        set { setting.set(&self, newValue) }
    }

    /// Settings of features by their keys, where they differ from the default.
    struct FeatureValues: Sendable, Equatable {
        var byKey: [String: any SettingValue] = [:]

        static func == (one: Self, other: Self) -> Bool {
            one.byKey.mapValues(\.settingTexts) == other.byKey.mapValues(\.settingTexts)
        }
    }
}
