import Foundation

/// Changes of the user's own profile. The server applies all of them or none.
public struct ProfileChanges: Hashable, Sendable {
    /// 1 to 50 characters after trimming; free text, not unique.
    public var displayName: Change<String>
    /// An `https` URL of at most 2,048 bytes.
    public var photoURL: Change<URL>
    /// An IANA name, such as `Europe/Paris`.
    public var timezone: Change<String>
    /// A BCP 47 tag, such as `pt-BR`.
    public var locale: Change<String>

    /// Creates a change of the given members; the others keep their values.
    public init(
        displayName: Change<String> = .keep, photoURL: Change<URL> = .keep, timezone: Change<String> = .keep,
        locale: Change<String> = .keep
    ) {
        (self.displayName, self.photoURL, self.timezone) = (displayName, photoURL, timezone)
        self.locale = locale
    }

    /// Whether no member changes.
    public var isEmpty: Bool { self == ProfileChanges() }
}

extension ProfileChanges {
    /// Validates the changes, as ``PresenceClient/updateProfile(_:offline:)`` does.
    ///
    /// - Throws: `validationFailed` with the first invalid member as `field`.
    public func check() throws(PresenceError) {
        if let flaw = wire.flaw { throw flaw }
    }

    /// The changes as the server stores them: names without leading and trailing white space.
    package var trimmed: ProfileChanges { ProfileChanges(wire) }
}

/// Encoded as an object of the changed members; a removed member is `null`.
extension ProfileChanges: Codable {
    private enum CodingKeys: String, CodingKey {
        case displayName, photoURL, timezone, locale
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func change<Value: Decodable & Hashable & Sendable>(_ key: CodingKeys) throws -> Change<Value> {
            guard members.contains(key) else { return .keep }
            return try members.decodeNil(forKey: key) ? .remove : .set(members.decode(Value.self, forKey: key))
        }
        self.init(
            displayName: try change(.displayName), photoURL: try change(.photoURL), timezone: try change(.timezone),
            locale: try change(.locale))
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        func encode<Value: Encodable>(_ change: Change<Value>, _ key: CodingKeys) throws {
            switch change {
            case .keep: break
            case .remove: try members.encodeNil(forKey: key)
            case .set(let value): try members.encode(value, forKey: key)
            }
        }
        try encode(displayName, .displayName)
        try encode(photoURL, .photoURL)
        try encode(timezone, .timezone)
        try encode(locale, .locale)
    }
}
