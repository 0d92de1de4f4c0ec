import Foundation
import Passwords
import PresenceProtocol
import Signing

/// A code with which the reader of a mail signs in, and the token of the link beside it. The store has only their digests.
struct MailCode {
    /// Six of them.
    let digits: String
    let token: String

    /// How long both are valid, in ms.
    static let lifetime: Milliseconds = 600_000
    private static let tokenBytes = 32

    init() {
        let number = Sodium.random(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000
        digits = String(String(1_000_000 + number).dropFirst())
        token = Base64URL.encode(Sodium.random(Self.tokenBytes))
    }

    /// The address in a link.
    func escaped(_ email: EmailAddress) -> String {
        // A parser of links would read a + as a space.
        let allowed = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyz0123456789-._@")
        return email.text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }

    /// A user's entry: the code, perhaps with spaces, or the token of the link.
    enum Entry {
        case digits(String)
        case token([UInt8])

        init?(_ text: String) {
            let digits = text.filter { !$0.isWhitespace && $0 != "-" }
            if digits.utf8.count == 6, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
                self = .digits(digits)
            } else if text.utf8.count < 64, let token = Base64URL.decode(Array(text.utf8)[...]),
                token.count == MailCode.tokenBytes
            {
                self = .token(Array(text.utf8))
            } else {
                return nil
            }
        }
    }
}
