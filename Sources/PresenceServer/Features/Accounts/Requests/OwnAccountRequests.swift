import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET /v1/me` and `PATCH /v1/me`.
extension Accounts {
    func showOwn(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        return try own(try await account(of: user), user)
    }

    /// An empty change succeeds at once, as on a socket. A missing account is reported before errors in the body.
    func changeOwn(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        let changes: [String]
        do throws(DecodingFailure) {
            changes = try ownChanges(call)
        } catch {
            _ = try await account(of: user)
            throw Refusal(error)
        }
        let keys = shard.partitions.keys(of: user)
        let change = ScriptCall(
            .changeAccount, in: keys, ["user": keys.user(user), "directory": keys.directory], ["user": user],
            each: changes, by: call.writer)
        return try own(try await shard.run(change).accepted(or: AccountRefusal.self), user)
    }

    /// The person's language for mails, of a sign-up or a change.
    static func language(in body: RequestObject) throws(DecodingFailure) -> String? {
        let language = try body.optionalText("preferredLanguage")
        if let language, !LanguageTag.isWellFormed(language) {
            throw .invalid("preferredLanguage", "must be a language tag of BCP 47")
        }
        return language
    }

    func own(_ reply: ScriptReply, _ user: UserID) throws(Refusal) -> HTTPResponse {
        guard let response = HTTPResponse.own(reply, shard.bodyMark, hasProviders: !providers.isEmpty) else {
            throw shard.damaged(user)
        }
        return response
    }

    /// Rows of `change-account.lua`.
    private func ownChanges(_ call: HTTPCall) throws(DecodingFailure) -> [String] {
        guard let json = try RequestObject(json: call.body).optionalObject("changes") else { throw .missing("changes") }
        let profile = try ProfileChanges.decode(json: json)
        guard profile.hasKnownTimezone else { throw .unknownTimezone }
        let members = try RequestObject(json: json)
        var changes = stride(from: 0, to: profile.arguments.count, by: 2).flatMap {
            ["p", profile.arguments[$0], profile.arguments[$0 + 1]]
        }
        if members.has("setupCompleted") {
            let isCompleted = try members.optionalBool("setupCompleted") ?? false
            changes += ["a", "setup", isCompleted ? "1" : ""]
        }
        if members.has("preferredLanguage") {
            let language = try Self.language(in: members)
            changes += ["a", "language", language.map(JSONWriter.encoded) ?? ""]
        }
        return changes
    }
}
