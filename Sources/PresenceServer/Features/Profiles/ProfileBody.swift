import PresenceProtocol

/// Members of a profile that the server itself needs, read from its body as stored in Redis: the encoded members of an
/// object, and its closing brace.
enum ProfileBody {
    /// An encoded string; `nil` if there is none, or the body cannot be read.
    static func displayName(_ body: [UInt8]) -> [UInt8]? { member("displayName", of: body) }

    /// When the profile was created, in ms since 1970; for an account, when its user signed up.
    static func createdAt(_ body: [UInt8]) -> Timestamp? {
        member("createdAt", of: body).flatMap { Timestamp(String(decoding: $0, as: UTF8.self)) }
    }

    private static func member(_ name: StaticString, of body: [UInt8]) -> [UInt8]? {
        body.withUnsafeBytes { bytes in
            var scanner = JSONScanner(members: bytes)
            while let key = try? scanner.nextKey(), let value = try? scanner.value() {
                guard key.equals(name) else { continue }
                // The bytes of a string are those between its quotes.
                return value.kind == .string ? [0x22] + value.bytes + [0x22] : Array(value.bytes)
            }
            return nil
        }
    }
}
