import PresenceCore
import PresenceProtocol

/// A name that at most one account has. A keyed hash of the name chooses the partition of the claim on it.
enum ClaimedName: Hashable {
    case email(EmailAddress)
    /// A provider's identity, by its digest.
    case identity(String)

    var text: String {
        switch self {
        case .email(let email): email.text
        case .identity(let digest): digest
        }
    }

    /// The partition of its claim; `nil` if the digest of an identity is none.
    func keys(in logins: LoginPartitions) -> PartitionKeys? {
        switch self {
        case .email(let email): logins.keys(of: email.text)
        case .identity(let digest): logins.keys(ofIdentity: digest)
        }
    }

    /// The hash with its claim.
    func claims(in logins: LoginPartitions) -> String? {
        guard let keys = keys(in: logins) else { return nil }
        switch self {
        case .email(let email): return keys.emails(with: email)
        case .identity(let digest): return keys.identities(with: digest)
        }
    }
}

extension ScriptCall {
    /// Claims a name for an account; `nil` if the digest of an identity is none.
    static func take(
        _ name: ClaimedName, _ number: String, for user: UserID, in logins: LoginPartitions
    ) -> ScriptCall? {
        guard let keys = name.keys(in: logins), let claims = name.claims(in: logins) else { return nil }
        return ScriptCall(
            .takeClaim, in: keys, ["claims": claims], ["user": user, "number": number, "name": name.text])
    }

    /// Releases a name if the claim is unchanged; `nil` if the digest of an identity is none.
    static func release(
        _ claim: AccountClaim, on name: ClaimedName, in logins: LoginPartitions
    ) -> ScriptCall? {
        guard let keys = name.keys(in: logins), let claims = name.claims(in: logins) else { return nil }
        return ScriptCall(.releaseClaim, in: keys, ["claims": claims], ["claim": claim.text, "name": name.text])
    }

    /// Asks whether the account has the name by this claim, or is about to.
    static func holds(_ claim: AccountClaim, on name: ClaimedName, in partitions: Partitions) -> ScriptCall {
        let keys = partitions.keys(of: claim.user)
        let record: KeyValuePairs<StaticString, String> = ["user": keys.user(claim.user)]
        return switch name {
        case .email(let email):
            ScriptCall(.holdsClaim, in: keys, record, ["address": email.text, "number": claim.number])
        case .identity(let digest):
            ScriptCall(.holdsIdentity, in: keys, record, ["identity": digest, "number": claim.number])
        }
    }
}
