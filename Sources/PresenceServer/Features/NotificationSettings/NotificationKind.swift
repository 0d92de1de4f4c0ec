import Installation
import PresenceCore
import PresenceProtocol

/// A kind of backends' notifications that users can switch off, and its name for people.
struct NotificationKind: Equatable {
    let kind: String
    let name: String

    private static let most = NotificationSettings.mostKinds
    private static let mostCharacters = 100

    static func all(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> [NotificationKind] {
        var kinds: [NotificationKind] = []
        for entry in configuration[NotificationSettingsRequests.kinds] { kinds.append(try NotificationKind(entry)) }
        guard kinds.count <= most else { throw invalid("has more than \(most) kinds") }
        guard Set(kinds.map(\.kind)).count == kinds.count else { throw invalid("names a kind twice") }
        return kinds
    }

    /// - Parameter entry: `kind=NAME name=TEXT`, with escapes.
    private init(_ entry: String) throws(InvalidConfiguration) {
        var values: [Substring: String] = [:]
        for word in entry.split(separator: " ") {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let value = String(parts[1]).removingPercentEncoding else {
                throw Self.invalid("has an entry that is not kind=NAME name=TEXT")
            }
            values[parts[0]] = value
        }
        guard let kind = values["kind"], CreationKey(kind) != nil else {
            throw Self.invalid(
                "has an entry without a kind of 1 to \(CreationKey.maximumLength) bytes of printable ASCII without space"
            )
        }
        let name = values["name"] ?? kind
        guard FreeText.isVisible(name), FreeText.brokenRule(by: name, maximumCharacters: Self.mostCharacters) == nil
        else {
            throw Self.invalid("\(kind): name must be at most \(Self.mostCharacters) visible characters")
        }
        (self.kind, self.name) = (kind, name)
    }

    private static func invalid(_ reason: String) -> InvalidConfiguration {
        InvalidConfiguration(key: NotificationSettingsRequests.kinds.key, reason: reason)
    }
}
