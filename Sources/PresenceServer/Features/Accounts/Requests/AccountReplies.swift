import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The words with which scripts of accounts refuse a request.
enum AccountRefusal: String, RefusalWord {
    case changed = "CHANGED"
    case gone = "GONE"
    case none = "NONE"
    case taken = "TAKEN"
    case tooFast = "TOOFAST"
    case reused = "REUSED"

    var refusal: Refusal {
        switch self {
        case .changed: .credentials
        case .gone: .expired
        case .none: .noAccount
        case .taken: .emailTaken
        case .tooFast:
            Refusal(.rateLimited, "too many mails were requested within an hour", retryAfter: 3_600_000)
        case .reused:
            Refusal(
                .unauthorized, "this refresh token was used before: its device has been signed out", status: 401,
                reason: "token_reused")
        }
    }
}

extension Refusal {
    /// One refusal for an unknown address, a wrong password and a disabled account alike.
    static var credentials: Refusal {
        Refusal(
            .unauthorized, "this address and password belong to no account", status: 401, reason: "invalid_credentials")
    }

    static var expired: Refusal {
        Refusal(
            .unauthorized, "this token is not, or no longer, good for anything", status: 401, reason: "token_expired")
    }

    static var noAccount: Refusal { Refusal(.notFound, "this user has no account on this server") }

    static var emailTaken: Refusal {
        Refusal(.conflict, "This email is already registered.", field: "email", reason: "email_taken")
    }

    static var noPassword: Refusal {
        Refusal(.conflict, "this account has no password", reason: "no_password")
    }

    static var upgraded: Refusal {
        Refusal(
            .conflict, "this account has an address, or another request for one: nothing was done",
            reason: "already_upgraded")
    }

    static var invalidEmail: Refusal {
        Refusal(.validationFailed, "email must be an e-mail address", field: "email", reason: "invalid_email")
    }

    static func weakPassword(_ rule: String, field: String) -> Refusal {
        Refusal(.validationFailed, "\(field) \(rule)", field: field, reason: "weak_password")
    }

    /// The store is unreachable, or this server has only just reached it.
    static var noStore: Refusal { Refusal(.unavailable, "the store is out of reach", retryAfter: 1_000) }

    /// The connection to the store was lost between two steps.
    static func unknownOutcome(
        _ text: String = "the store was lost while this was under way: whether it was changed is unknown"
    ) -> Refusal {
        Refusal(.init(code: .unavailable, message: text, retryAfter: 1_000, outcomeUnknown: true))
    }
}

extension HTTPCall {
    /// The user of the call's token.
    ///
    /// - Throws: If the caller is a backend, which has no account.
    func owner() throws(Refusal) -> UserID {
        guard let viewer else { throw Refusal(.forbidden, "a backend has no account of its own") }
        return viewer
    }

    /// The value that `read` decodes from the body.
    func body<Value>(_ read: (RequestObject) throws(DecodingFailure) -> Value) throws(Refusal) -> Value {
        do throws(DecodingFailure) { return try read(RequestObject(json: body)) } catch { throw Refusal(error) }
    }
}

extension ShardLogic {
    /// Reports a damaged account in the store.
    func damaged(_ user: UserID) -> Refusal {
        recordDamage("account", of: user)
        return Refusal(.damagedRecord())
    }
}

extension HTTPResponse {
    static let done = HTTPResponse(status: 204)
    static let accepted = HTTPResponse.json(202, "{}")
    static let empty = HTTPResponse.json(200, "{}")

    static func account(_ account: [UInt8]) -> HTTPResponse {
        .json(200, Array(#"{"account":"#.utf8) + account + [UInt8(ascii: "}")])
    }

    /// The response with the account, the profile and the identities from a script's reply: account, version, profile version,
    /// BODY, identities.
    ///
    /// - Parameters:
    ///   - mark: The mark in stored profiles that servers replace for clients.
    ///   - hasProviders: Whether the server has providers. Without them, only accounts with identities show these.
    static func own(_ reply: ScriptReply, _ mark: BodyMark?, hasProviders: Bool) -> HTTPResponse? {
        guard let account = reply[0].bytes, let body = reply[3].bytes else { return nil }
        var profile = ServerMessageWriter.noProfile
        if !body.isEmpty {
            guard let version = reply[2].int, body.withUnsafeBytes({ RegisterEncoder.isBody($0) }) else { return nil }
            profile = Array(RegisterEncoder.object(version: version, body: mark.filled(body)).bytes)
        }
        var json = Array(#"{"account":"#.utf8) + account + Array(#","profile":"#.utf8) + profile
        let identities = LinkedIdentity.all(in: reply[4].string ?? "")
        if hasProviders || !identities.isEmpty {
            json += Array(#","identities":[\#(identities.map(\.json).joined(separator: ","))]"#.utf8)
        }
        return .json(200, json + [UInt8(ascii: "}")])
    }
}

/// A device's description of itself at sign-in.
struct SigningDevice {
    let kind: String
    /// An encoded JSON string.
    let name: String
    /// The same device has the same digest at its next sign-in: by its id, or by kind and name if it gives none.
    let digest: String
    /// For people.
    let shownName: String

    init(_ body: RequestObject) throws(DecodingFailure) {
        let device = try body.optionalObject("device").map { (json) throws(DecodingFailure) in
            try Device.decode(json: json)
        }
        kind = (device?.kind ?? .other).rawValue
        name = JSONWriter.encoded(device?.name ?? "")
        let known = device?.id.map { "id \($0.string)" } ?? "\(kind) \(device?.name ?? "")"
        digest = Sodium.sha256(Array(known.utf8)).prefix(8).hexadecimal
        shownName = device?.name.flatMap { $0.isEmpty ? nil : $0 } ?? (kind == DeviceKind.other.rawValue ? "?" : kind)
    }
}
