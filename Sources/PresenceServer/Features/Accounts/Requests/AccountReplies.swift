import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Answers that several requests of accounts give.
extension HTTPCall {
    func refuse(_ status: Int, _ code: ErrorCode, reason: String, _ message: String, field: String? = nil) {
        refuse(status, .init(code: code, message: message, field: field, reason: reason))
    }

    /// With the status of its code, among those that this feature gives.
    func refuse(_ error: ServerMessage.ErrorMessage) { refuse(error.code == .conflict ? 409 : 422, error) }

    /// One answer for an address that nobody has, a wrong password and an account that is disabled.
    func refuseCredentials() {
        refuse(401, .unauthorized, reason: "invalid_credentials", "this address and password belong to no account")
    }

    func refuseEmail() {
        refuse(422, .validationFailed, reason: "invalid_email", "email must be an e-mail address", field: "email")
    }

    func refusePassword(_ rule: String, field: String) {
        refuse(422, .validationFailed, reason: "weak_password", "\(field) \(rule)", field: field)
    }

    func refuseTaken() {
        refuse(409, .conflict, reason: "email_taken", "This email is already registered.", field: "email")
    }

    /// The store is out of reach, or this server has just reached it.
    func refuseUnavailable() {
        refuse(503, .init(code: .unavailable, message: "the store is out of reach", retryAfter: 1_000))
    }

    /// The store was lost between two steps.
    func refuseUnknown() {
        refuse(
            503,
            .init(
                code: .unavailable,
                message: "the store was lost while this was under way: whether it was changed is unknown",
                retryAfter: 1_000, outcomeUnknown: true))
    }

    /// Something of an account in the store is none.
    func refuseDamaged(_ user: UserID) {
        shard.noteDamage("account", of: user)
        respond(.error(500, .damagedRecord()))
    }

    /// The user whose token it came with; backends have no account.
    func ownUser() -> UserID? {
        if let viewer { return viewer }
        refuse(403, .forbidden, "a backend has no account of its own")
        return nil
    }

    func refuseNoAccount() { refuse(404, .notFound, "this user has no account on this server") }
}

extension HTTPResponse {
    static let done = HTTPResponse(status: 204)
    static let accepted = HTTPResponse.json(202, "{}")

    /// The account, and the profile, as the script has answered: OK, account, version, profile version, BODY.
    ///
    /// - Parameter mark: What profiles have in them that is told otherwise.
    static func own(_ words: [RedisValue], _ mark: BodyMark?) -> HTTPResponse? {
        guard words.count > 4, let account = words[1].bytes, let body = words[4].bytes else { return nil }
        var profile = ServerMessageWriter.noProfile
        if !body.isEmpty {
            guard let version = words[3].int, body.withUnsafeBytes({ RegisterFrame.isBody($0) }) else { return nil }
            profile = Array(RegisterFrame.object(version: version, body: mark.filled(body)).bytes)
        }
        return .json(
            200, Array(#"{"account":"#.utf8) + account + Array(#","profile":"#.utf8) + profile + [UInt8(ascii: "}")])
    }
}

/// A device that signs in, as it says of itself.
struct SigningDevice {
    let kind: String
    /// As an encoded JSON string.
    let name: String

    init(_ body: RequestObject) throws(DecodingFailure) {
        let device = try body.optionalObject("device").map { (json) throws(DecodingFailure) in
            try Device.decode(json: json)
        }
        kind = (device?.kind ?? .other).rawValue
        name = StatusArguments.encoded(device?.name ?? "")
    }
}
