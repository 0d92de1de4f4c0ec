import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET /v1/me` and `PATCH /v1/me`.
extension Accounts {
    func showOwn(_ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        withAccount(call, user) { [self] words in
            guard let response = HTTPResponse.own(words, shard.bodyMark) else { return call.refuseDamaged(user) }
            call.respond(response)
        }
    }

    /// Nothing to change is changed at once, as on a socket. That there is no account comes before what is wrong with the body.
    func changeOwn(_ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        do throws(DecodingFailure) {
            change(call, user, try ownChanges(call))
        } catch {
            withAccount(call, user) { _ in call.refuse(error) }
        }
    }

    /// Triples, as the script takes them.
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
            let language = try members.optionalText("preferredLanguage")
            if let language, !LanguageTag.isWellFormed(language) {
                throw .invalid("preferredLanguage", "must be a language tag of BCP 47")
            }
            changes += ["a", "language", language.map(StatusArguments.encoded) ?? ""]
        }
        return changes
    }

    private func change(_ call: HTTPCall, _ user: UserID, _ changes: [String]) {
        let keys = shard.partitions.keys(of: user)
        call.ask {
            shard.store.run(
                .changeAccount,
                keys: [keys.shards, keys.floor, keys.user(user), keys.account(user)] + call.writer.keys,
                arguments: [keys.events, shard.link.incarnation, user.string] + changes, lane: .commands, reply: $0)
        } answered: { [self] value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                guard let response = HTTPResponse.own(words, shard.bodyMark) else { return call.refuseDamaged(user) }
                call.respond(response)
            case "NONE": call.refuseNoAccount()
            default: call.refuseDamaged(user)
            }
        }
    }
}
