import Foundation
import PresenceProtocol

/// The user whom a token (a JWT) names. It is not verified, which only the server can: it says whose a change is that is
/// queued before the server has said who is connected.
enum TokenSubject {
    private struct Claims: Decodable {
        var sub: String?
    }

    static func user(of token: String) -> UserID? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        // Base64 as in RFC 7515: two other characters, and no padding.
        var payload = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        payload += String(repeating: "=", count: (4 - payload.utf8.count % 4) % 4)
        let claims = Data(base64Encoded: payload).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }
        return claims?.sub.flatMap(UserID.init)
    }
}
