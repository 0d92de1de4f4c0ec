import PresenceCore
import PresenceProtocol
import Tokens

/// A person as a provider has identified them, by a token that was verified.
struct Identity {
    let provider: String
    /// The digest of issuer and subject (`AddressPartitions.identity`).
    let digest: String
    let email: EmailAddress?
    /// Whether the provider states that the address is theirs. Nothing is linked by another one.
    let isEmailVerified: Bool
    /// `nil` if the provider names none that can be a display name.
    let displayName: String?
    /// The mail to the account's address when the identity is linked.
    var notice = ""

    init(_ claims: IdentityClaims, by provider: Provider, _ logins: LoginPartitions) {
        self.provider = provider.name
        digest = logins.identity(claims.issuer, claims.subject)
        email = claims.email.flatMap { EmailAddress($0) }
        isEmailVerified = claims.isEmailVerified
        displayName = claims.name.flatMap { DisplayName.normalized($0) }
    }

    init(provider: String, digest: String, email: EmailAddress?, isEmailVerified: Bool, displayName: String?) {
        (self.provider, self.digest, self.email) = (provider, digest, email)
        (self.isEmailVerified, self.displayName) = (isEmailVerified, displayName)
    }

    var name: ClaimedName { .identity(digest) }
    var verifiedEmail: EmailAddress? { isEmailVerified ? email : nil }
    /// For scripts.
    var emailArgument: String { email?.text ?? "-" }
}

/// An identity of an account, as it is stored: `eachIdentity` in account-lib.lua.
struct LinkedIdentity {
    /// The digest of issuer and subject.
    let digest: String
    /// The number of the account's claim on it.
    let number: Int64
    let provider: String
    let email: String?
    let linkedAt: Timestamp

    static func all(in text: String) -> [LinkedIdentity] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 5, let number = Int64(words[1]), let linkedAt = Timestamp(words[3]) else { return nil }
            return LinkedIdentity(
                digest: words[0], number: number, provider: words[2], email: words[4] == "-" ? nil : words[4],
                linkedAt: linkedAt)
        }
    }

    var json: String {
        let email = email.map { #","email":\#(JSONWriter.encoded($0))"# } ?? ""
        return #"{"provider":\#(JSONWriter.encoded(provider))\#(email),"linkedAt":\#(linkedAt)}"#
    }
}

/// Why a token, or the request of a user with one, is refused.
enum IdentityRefusal {
    case token(IdentityFailure)
    /// The provider cannot be asked; the time in ms after which it may be.
    case unavailable(after: Milliseconds)
    case disabled, taken, lastSignIn, missing, tooMany

    var refusal: Refusal {
        switch self {
        case .token(let failure): Self.token("this identity token is not accepted: \(failure)")
        case .disabled: Self.token("this identity does not sign in here")
        case .unavailable(let wait):
            Refusal(
                .unavailable, "the provider cannot be asked now", reason: "provider_unavailable",
                retryAfter: max(1, wait))
        case .taken:
            Refusal(
                .conflict, "another account has this identity", field: "idToken", reason: "identity_taken")
        case .lastSignIn:
            Refusal(.conflict, "this account has no other way to sign in", reason: "last_sign_in")
        case .missing: Refusal(.notFound, "this account has no identity of this provider")
        case .tooMany: Refusal(.tooMany, "an account has at most \(IdentityChange.most) identities", field: "provider")
        }
    }

    private static func token(_ text: String) -> Refusal {
        Refusal(.unauthorized, text, status: 401, field: "idToken", reason: "invalid_credentials")
    }
}

/// The words with which scripts refuse to take identities away.
enum UnlinkRefusal: String, RefusalWord {
    case none = "NONE"
    case missing = "MISSING"
    case last = "LAST"

    var refusal: Refusal {
        switch self {
        case .none: .noAccount
        case .missing: IdentityRefusal.missing.refusal
        case .last: IdentityRefusal.lastSignIn.refusal
        }
    }
}
