import Installation
import Logging
import PresenceProtocol
import Tokens

/// A type of ``Setting`` values: how a value is parsed and formatted.
///
/// All sources provide text (the file and the environment have nothing else), so there is one parser, and it is strict: any
/// other text is rejected with a message that names the valid form.
package protocol SettingValue: Sendable, Equatable {
    static var isList: Bool { get }
    /// The text for `nil`, where the type is optional.
    static var nothing: String { get }
    /// The default range of a number.
    static var range: ClosedRange<Int64>? { get }
    /// The unit of its number in messages.
    static var unit: String { get }

    /// - Parameter texts: One text, unless it is a list.
    init(setting texts: [String]) throws(SettingMistake)
    var settingTexts: [String] { get }
    /// The number that the range applies to.
    var number: Int64? { get }
}

/// A text is not a value of the type.
package struct SettingMistake: Error {
    package let expected: String
}

extension SettingValue {
    package static var isList: Bool { false }
    package static var nothing: String { "" }
    package static var range: ClosedRange<Int64>? { nil }
    package static var unit: String { "" }
    package var number: Int64? { nil }
}

extension String: SettingValue {
    package init(setting texts: [String]) { self = texts[0] }
    package var settingTexts: [String] { [self] }
}

extension Bool: SettingValue {
    package init(setting texts: [String]) throws(SettingMistake) {
        guard let value = Bool(texts[0]) else { throw SettingMistake(expected: "true or false") }
        self = value
    }

    package var settingTexts: [String] { [String(self)] }
}

/// A count.
extension Int: SettingValue {
    package static var nothing: String { "0" }

    package init(setting texts: [String]) throws(SettingMistake) {
        guard texts[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int(texts[0])
        else { throw SettingMistake(expected: "a whole number") }
        self = number
    }

    package var settingTexts: [String] { [String(self)] }
    package var number: Int64? { Int64(self) }
}

/// A duration (`Milliseconds`).
extension Int64: SettingValue {
    package static var range: ClosedRange<Int64>? { 1...ServerConfiguration.longestDuration }
    package static var unit: String { " ms" }

    package init(setting texts: [String]) throws(SettingMistake) {
        guard let duration = DurationText.parse(texts[0]) else { throw SettingMistake(expected: DurationText.form) }
        self = duration
    }

    package var settingTexts: [String] { [DurationText.format(self)] }
    package var number: Int64? { self }
}

/// `nil`, written 0 or as the empty text: the server chooses.
extension Optional: SettingValue where Wrapped: SettingValue {
    package init(setting texts: [String]) throws(SettingMistake) {
        let value = try Wrapped(setting: texts)
        self = value.settingTexts == [Wrapped.nothing] ? nil : value
    }

    package var settingTexts: [String] { self?.settingTexts ?? [Wrapped.nothing] }
    package var number: Int64? { self?.number }
}

extension Array: SettingValue where Element: SettingValue {
    package static var isList: Bool { true }

    package init(setting texts: [String]) throws(SettingMistake) {
        self = []
        for text in texts { append(try Element(setting: [text])) }
    }

    package var settingTexts: [String] { flatMap(\.settingTexts) }
}

/// One of a few words.
extension SettingValue where Self: RawRepresentable<String> & CaseIterable {
    package init(setting texts: [String]) throws(SettingMistake) {
        guard let value = Self(rawValue: texts[0]) else {
            throw SettingMistake(expected: "one of " + Self.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = value
    }

    package var settingTexts: [String] { [rawValue] }
}

extension Logger.Level: SettingValue {}
extension RedisServerProcess.AppendFsync: SettingValue {}

/// A public key, written `KID:ALG:FILE`.
extension AuthenticationSettings.Key: SettingValue {
    package init(setting texts: [String]) throws(SettingMistake) {
        let parts = texts[0].split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3 else {
            throw SettingMistake(expected: "KID:ALG:FILE, as in main:ES256:/etc/presence/main.pem")
        }
        self.init(kid: parts[0], alg: parts[1], file: parts[2])
    }

    package var settingTexts: [String] { ["\(kid):\(alg):\(file)"] }
}
