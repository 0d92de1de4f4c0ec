import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `GET /v1/me` and `PATCH /v1/me`.
extension Accounts {
    func showOwn(_ call: HTTPCall) {
        guard let user = call.ownUser() else { return }
        withAccount(call, user) { words in
            guard let response = HTTPResponse.own(words) else { return call.refuseDamaged(user) }
            call.respond(response)
        }
    }

    func changeOwn(_ call: HTTPCall) throws(DecodingFailure) {
        guard let user = call.ownUser() else { return }
        guard let json = try RequestObject(json: call.body).optionalObject("changes") else { throw .missing("changes") }
        let profile = try ProfileChanges.decode(json: json)
        guard profile.hasKnownTimezone else { return call.refuse(422, ProfileChanges.unknownTimezone) }
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
        guard !changes.isEmpty else {
            return call.refuse(400, .badRequest, "changes has no member that can be changed")
        }
        let keys = shard.partitions.keys(of: user)
        call.ask {
            shard.store.run(
                .changeAccount,
                keys: [keys.shards, keys.floor, keys.user(user), keys.account(user)] + call.writer.keys,
                arguments: [keys.events, shard.link.incarnation, user.string] + changes, lane: .commands, reply: $0)
        } answered: { value in
            let words = value.array ?? []
            switch words.first?.string {
            case "OK":
                guard let response = HTTPResponse.own(words) else { return call.refuseDamaged(user) }
                call.respond(response)
            case "NONE": call.refuseNoAccount()
            default: call.refuseDamaged(user)
            }
        }
    }
}
