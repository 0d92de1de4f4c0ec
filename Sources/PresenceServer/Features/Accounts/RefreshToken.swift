import Passwords
import PresenceProtocol
import Signing

/// The token with which a signed-in device gets its next access token. It contains the user, the device's grant, and a
/// counter that grows with each renewal. Its MAC is made with the grant's key, so there is no table of tokens and
/// nothing to prune.
///
///     base64url of:  version 1 │ length, user │ length, grant │ counter, 8 bytes │ MAC, 16 bytes
struct RefreshToken: Equatable {
    let user: UserID
    let grant: Identifier
    let counter: Int64

    private static let version: UInt8 = 1
    private static let macBytes = 16

    private var message: [UInt8] {
        var bytes = [Self.version]
        for id in [user, grant] { bytes += [UInt8(id.string.utf8.count)] + Array(id.string.utf8) }
        return bytes + (0..<8).reversed().map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    }

    func text(key: [UInt8]) -> String { Base64URL.encode(message + Sodium.mac(message, key: key)) }

    init(user: UserID, grant: Identifier, counter: Int64) {
        self.user = user
        self.grant = grant
        self.counter = counter
    }

    /// Parses a token whose MAC must still be checked; `nil` if the text is not a token.
    static func read(_ text: String) -> (token: RefreshToken, mac: [UInt8])? {
        guard text.utf8.count <= 512, var rest = Base64URL.decode(Array(text.utf8)[...])?[...],
            rest.popFirst() == version
        else { return nil }
        func id() -> Identifier? {
            guard let count = rest.popFirst(), rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return Identifier(String(decoding: rest.prefix(Int(count)), as: UTF8.self))
        }
        guard let user = id(), let grant = id(), rest.count == 8 + macBytes else { return nil }
        let counter = rest.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard counter > 0 else { return nil }
        return (RefreshToken(user: user, grant: grant, counter: counter), Array(rest.suffix(macBytes)))
    }

    func isGenuine(_ mac: [UInt8], key: [UInt8]) -> Bool { Sodium.areEqual(mac, Sodium.mac(message, key: key)) }
}
