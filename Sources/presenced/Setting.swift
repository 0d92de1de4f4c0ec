import Logging
import PresenceCore
import PresenceProtocol
import PresenceServer
import Tokens

/// One key of the configuration: how its text becomes a value, and how its value is written.
///
/// Every source gives text (the file and the environment have nothing else), so there is one way of reading it, and it
/// is strict: what is not exactly a value of the kind is refused with a message that says what would be.
struct Setting: Sendable {
    /// The path in the file, `heartbeat.interval`; its name in the environment follows from it.
    let key: String
    /// Whether the file has a list of texts there.
    let isList: Bool
    /// Of a list of mappings: the keys of each.
    private(set) var columns: [String] = []
    private let readTexts: @Sendable (inout ServerConfiguration, [String]) throws(Mistake) -> Void
    private let writeTexts: @Sendable (ServerConfiguration) -> [String]

    /// What a value must be.
    struct Mistake: Error {
        let expected: String
    }

    /// Sets the value from its text; of a setting that is no list from its only one.
    func read(_ texts: [String], into configuration: inout ServerConfiguration) throws(Mistake) {
        try readTexts(&configuration, texts)
    }

    /// The text that would set the value that `configuration` has.
    func write(_ configuration: ServerConfiguration) -> [String] { writeTexts(configuration) }

    /// The name of the variable that sets it: `PRESENCE_HEARTBEAT_INTERVAL`.
    var variable: String {
        var name = "PRESENCE_"
        var previous: Character = " "
        for character in key {
            if previous.isLowercase, character.isUppercase { name += "_" }
            name += character == "." ? "_" : character.uppercased()
            previous = character
        }
        return name
    }

    private init<Value>(
        _ key: String, _ path: WritableKeyPath<ServerConfiguration, Value> & Sendable,
        parse: @escaping @Sendable (String) throws(Mistake) -> Value, format: @escaping @Sendable (Value) -> String
    ) {
        self.key = key
        isList = false
        readTexts = { configuration, texts throws(Mistake) in configuration[keyPath: path] = try parse(texts[0]) }
        writeTexts = { [format($0[keyPath: path])] }
    }
}

extension Setting {
    static func duration(_ key: String, _ path: WritableKeyPath<ServerConfiguration, Milliseconds> & Sendable) -> Self {
        Self(
            key, path,
            parse: { text throws(Mistake) in
                guard let duration = DurationText.parse(text) else { throw Mistake(expected: DurationText.form) }
                return duration
            }, format: DurationText.format)
    }

    static func number(_ key: String, _ path: WritableKeyPath<ServerConfiguration, Int> & Sendable) -> Self {
        Self(key, path, parse: wholeNumber, format: { "\($0)" })
    }

    /// A number of which 0 means that the server chooses.
    static func numberOrAutomatic(
        _ key: String, _ path: WritableKeyPath<ServerConfiguration, Int?> & Sendable
    ) -> Self {
        Self(
            key, path,
            parse: { text throws(Mistake) in
                let number = try wholeNumber(text)
                return number == 0 ? nil : number
            }, format: { "\($0 ?? 0)" })
    }

    static func flag(_ key: String, _ path: WritableKeyPath<ServerConfiguration, Bool> & Sendable) -> Self {
        Self(
            key, path,
            parse: { text throws(Mistake) in
                guard let value = Bool(text) else { throw Mistake(expected: "true or false") }
                return value
            }, format: { "\($0)" })
    }

    static func text(_ key: String, _ path: WritableKeyPath<ServerConfiguration, String> & Sendable) -> Self {
        Self(key, path, parse: { text throws(Mistake) in text }, format: { $0 })
    }

    /// A text of which the empty one means that there is none.
    static func optionalText(_ key: String, _ path: WritableKeyPath<ServerConfiguration, String?> & Sendable) -> Self {
        Self(key, path, parse: { text throws(Mistake) in text.isEmpty ? nil : text }, format: { $0 ?? "" })
    }

    /// One of a few words.
    static func word<Value: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _ key: String, _ path: WritableKeyPath<ServerConfiguration, Value> & Sendable
    ) -> Self {
        Self(
            key, path,
            parse: { text throws(Mistake) in
                guard let value = Value(rawValue: text) else {
                    throw Mistake(expected: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "))
                }
                return value
            }, format: \.rawValue)
    }

    /// A list of texts.
    static func texts(_ key: String, _ path: WritableKeyPath<ServerConfiguration, [String]> & Sendable) -> Self {
        Self(
            list: key,
            read: { configuration, texts throws(Mistake) in configuration[keyPath: path] = texts },
            write: { $0[keyPath: path] })
    }

    /// What a feature lets operators set.
    static func feature(_ setting: FeatureSetting) -> Self {
        switch setting.unit {
        case .milliseconds: duration(setting.key, \.[setting])
        case .text: text(setting.key, \.[text: setting])
        case .rows:
            Self(
                list: setting.key, columns: setting.columns,
                read: { configuration, texts throws(Mistake) in configuration[rows: setting] = texts },
                write: { $0[rows: setting] })
        case .flag:
            Self(
                setting.key, \.[setting],
                parse: { text throws(Mistake) in
                    guard let value = Bool(text) else { throw Mistake(expected: "true or false") }
                    return value ? 1 : 0
                }, format: { $0 == 1 ? "true" : "false" })
        case .count:
            Self(
                setting.key, \.[setting], parse: { text throws(Mistake) in Int64(try wholeNumber(text)) },
                format: { "\($0)" })
        }
    }

    /// Public keys, each written `KID:ALG:FILE`.
    static func keys(
        _ key: String, _ path: WritableKeyPath<ServerConfiguration, [AuthenticationSettings.Key]> & Sendable
    ) -> Self {
        Self(
            list: key,
            read: { configuration, texts throws(Mistake) in
                var keys: [AuthenticationSettings.Key] = []
                for text in texts {
                    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(
                        String.init)
                    guard parts.count == 3 else {
                        throw Mistake(expected: "KID:ALG:FILE, as in main:ES256:/etc/presence/main.pem")
                    }
                    keys.append(.init(kid: parts[0], alg: parts[1], file: parts[2]))
                }
                configuration[keyPath: path] = keys
            }, write: { $0[keyPath: path].map { "\($0.kid):\($0.alg):\($0.file)" } })
    }

    private init(
        list key: String, columns: [String] = [],
        read: @escaping @Sendable (inout ServerConfiguration, [String]) throws(Mistake) -> Void,
        write: @escaping @Sendable (ServerConfiguration) -> [String]
    ) {
        self.key = key
        isList = true
        self.columns = columns
        readTexts = read
        writeTexts = write
    }

    @Sendable private static func wholeNumber(_ text: String) throws(Mistake) -> Int {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int(text)
        else {
            throw Mistake(expected: "a whole number")
        }
        return number
    }
}
