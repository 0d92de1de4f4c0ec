import Foundation

/// Changes of the own profile, applied whole or not at all.
public struct ProfileChanges: Hashable, Sendable {
    /// 1 to 50 characters after trimming; free text, not unique.
    public var displayName: Change<String>
    /// An `https` address of at most 2,048 bytes.
    public var photoURL: Change<URL>
    /// IANA name, such as `Europe/Paris`.
    public var timezone: Change<String>
    /// BCP 47, such as `pt-BR`.
    public var locale: Change<String>

    /// Makes a change of the members that are given; the others stay as they are.
    public init(
        displayName: Change<String> = .keep, photoURL: Change<URL> = .keep, timezone: Change<String> = .keep,
        locale: Change<String> = .keep
    ) {
        self.displayName = displayName
        self.photoURL = photoURL
        self.timezone = timezone
        self.locale = locale
    }

    /// Whether everything stays as it is.
    public var isEmpty: Bool { self == ProfileChanges() }
}

extension ProfileChanges {
    /// Looks at a change before it is made, as ``PresenceClient/updateProfile(_:offline:)`` does.
    ///
    /// - Throws: `validationFailed` with the first member that is out of bounds as `field`.
    public func check() throws(PresenceError) {
        if let flaw = wire.flaw { throw flaw }
    }

    /// As the server stores it: names without white space at their ends.
    package var trimmed: ProfileChanges { ProfileChanges(wire) }
}

/// An object with the members that change; a member that is removed is `null`.
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
