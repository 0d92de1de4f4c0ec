import Foundation
import PresenceProtocol

/// Reads the user from a token (a JWT). Only the server can verify it. The client uses the result as the owner of
/// changes that are queued before the server has confirmed the user.
enum TokenSubject {
    private struct Claims: Decodable {
        var sub: String?
    }

    static func user(of token: String) -> UserID? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        // Base64url (RFC 7515) uses two different characters and no padding.
        var payload = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        payload += String(repeating: "=", count: (4 - payload.utf8.count % 4) % 4)
        let claims = Data(base64Encoded: payload).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }
        return claims?.sub.flatMap(UserID.init)
    }
}
