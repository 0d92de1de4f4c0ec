import PresenceCore
import PresenceProtocol
import Redis

/// Carries what a user has asked or answered to the other users' partitions, as an intent of the user.
///
/// The user's record has all that is still to be done. A page of it is read, each thing of it is one step in the other
/// user's partition, and the next page begins with the outcomes. Each step compares numbers, so it may run twice or late.
final class Asking {
    static let name = "asking"

    private unowned let shard: ShardLogic
    private(set) var kind: IntentKind!
    /// The most things in one part of the intent.
    private static let page = 50
    /// Open requests to one user, and ended ones that are kept so that later steps are recognised.
    private static let (mostOpen, mostKept) = (OpenContactRequests.most, 1_000)

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.intents(Self.name) { [unowned self] (run) throws(RedisFailure) in
            try await carryOn(Progress(run.intent.subject), run)
        }
        shard.policies.asking = kind
    }

    func intent(of user: UserID) -> Intent { Intent(kind, user) }

    /// Runs a script that changes what a user asks or answers, and continues if its reply is `OK`.
    func change(_ call: ScriptCall, of user: UserID) async throws(Refusal) -> ScriptReply {
        try await shard.carryOut(intent(of: user)) { [unowned self] (run) throws(RedisFailure) in
            let reply = try await run.step(call, about: user)
            return reply.word == "OK" ? try await carryOn(Progress(user), run) : .done(reply.value)
        }
    }

    /// Starts at once what a sweep would do later.
    func begin(_ user: UserID) { shard.intents.begin(intent(of: user)) }

    /// The progress of one executor.
    private final class Progress {
        let user: UserID
        var outcomes: [String] = []
        var damaged: [String] = []

        init(_ user: UserID) { self.user = user }
    }

    /// The user as others see and judge them.
    private struct Asker {
        /// As JSON.
        let name: String
        let isGuest: String
    }

    private struct Thing {
        let kind: String
        let other: UserID
        let number: String
        /// As JSON.
        let text: String
        let isContact: String

        func outcome(_ word: String) -> [String] { [kind, other.string, number, word] }
    }

    private func carryOn(_ progress: Progress, _ run: IntentRun) async throws(RedisFailure) -> IntentEnd {
        while true {
            let (asker, things) = try await find(progress, run)
            guard !things.isEmpty else { return .ok }
            for thing in things {
                guard let reply = try await run.stepOrSkip(call(thing, asker, progress.user), about: thing.other) else {
                    progress.damaged += thing.outcome("damaged")
                    continue
                }
                progress.outcomes += thing.outcome(thing.kind == "a" ? reply[0].string ?? "" : "")
                // Both have asked: the other one's intent makes them contacts.
                if thing.kind == "d", reply[0].string == "1" { begin(thing.other) }
            }
            guard things.count == Self.page else { continue }
            return .more(IntentEnd.okReply) { [unowned self] (run) throws(RedisFailure) in
                try await carryOn(progress, run)
            }
        }
    }

    /// Notes the outcomes, and reads what is still to be done.
    private func find(_ progress: Progress, _ run: IntentRun) async throws(RedisFailure) -> (Asker, [Thing]) {
        let (user, keys) = (progress.user, shard.partitions.keys(of: progress.user))
        let call = ScriptCall(
            .asking, in: keys,
            [
                "unfinished": keys.unfinished, "asked": keys.asked(user), "contacts": keys.contacts(user),
                "user": keys.user(user),
            ], ["intent": run.intent.member, "user": user, "most": Self.page],
            each: progress.outcomes + progress.damaged)
        let words = try await run.step(call, about: user).rest.map { $0.string ?? "" }
        progress.outcomes = []
        guard words.count > 1 else { return (Asker(name: "", isGuest: ""), []) }
        let things = stride(from: 2, to: words.count - 4, by: 5).compactMap { place in
            UserID(words[place + 1]).map {
                Thing(
                    kind: words[place], other: $0, number: words[place + 2], text: words[place + 3],
                    isContact: words[place + 4])
            }
        }
        return (Asker(name: words[0], isGuest: words[1]), things)
    }

    private func call(_ thing: Thing, _ asker: Asker, _ user: UserID) -> ScriptCall {
        let (other, keys) = (thing.other, shard.partitions.keys(of: thing.other))
        let asked = keys.asked(other)
        switch thing.kind {
        case "d":
            return ScriptCall(
                .deliverAsked, in: keys,
                [
                    "unfinished": keys.unfinished, "asked": asked, "contacts": keys.contacts(other),
                    "blocks": keys.blocks(other), "user": keys.user(other),
                ],
                [
                    "intent": intent(of: other).member, "user": other, "from": user, "number": thing.number,
                    "name": asker.name, "text": thing.text, "isContact": thing.isContact, "isGuest": asker.isGuest,
                    "most": Self.mostOpen, "mostKept": Self.mostKept,
                ])
        case "x":
            return ScriptCall(
                .withdrawAsked, in: keys, ["asked": asked, "user": keys.user(other)],
                ["user": other, "from": user, "number": thing.number])
        case "a":
            return ScriptCall(
                .acceptAsked, in: keys,
                ["asked": asked, "contacts": keys.contacts(other), "user": keys.user(other)],
                ["user": other, "other": user, "number": thing.number])
        default:
            return ScriptCall(.forgetAsked, in: keys, ["asked": asked], ["other": user, "number": thing.number])
        }
    }
}

extension ContactRequests {
    /// The intent by which what a user asks is carried out or ended.
    static func asking(_ user: UserID) -> String { "\(Asking.name) \(user.string)" }
}
