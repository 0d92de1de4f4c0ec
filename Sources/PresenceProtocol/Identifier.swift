/// The id of a user, a conversation or a device: 1 to 128 bytes of printable ASCII without space (0x21 to 0x7E).
///
/// Every instance is valid, so code that gets one need not check it. Ids are compared byte by byte, as in Redis.
/// Swift's own `String ==` would merge texts that differ in bytes, but for ASCII the two comparisons are the same.
public struct Identifier: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The longest id, in bytes.
    public static let maximumLength = 128

    /// The id's text, always ASCII.
    public let string: String

    /// Makes an id, or `nil` if `string` is empty, too long, or contains anything but printable ASCII.
    public init?(_ string: String) {
        let utf8 = string.utf8
        guard !utf8.isEmpty, utf8.count <= Self.maximumLength, utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.string = string
    }

    public var description: String { string }

    public static func < (a: Identifier, b: Identifier) -> Bool { a.string < b.string }
}

/// A client's name for a creation, so that the client can repeat it: 1 to 64 bytes of printable ASCII without space.
public struct CreationKey: Hashable, Sendable, CustomStringConvertible {
    /// The longest key, in bytes.
    public static let maximumLength = 64

    /// The key's text, always ASCII.
    public let string: String

    /// Makes a key, or `nil` if `string` is empty, too long, or contains anything but printable ASCII.
    public init?(_ string: String) {
        guard string.utf8.count <= Self.maximumLength, let id = Identifier(string) else { return nil }
        self.string = id.string
    }

    public var description: String { string }
}

public typealias UserID = Identifier
public typealias ConversationID = Identifier
public typealias DeviceID = Identifier

/// A point in time: milliseconds since 1970 UTC by the server's clock. Clients never send one.
public typealias Timestamp = Int64

/// A duration in milliseconds.
public typealias Milliseconds = Int64
