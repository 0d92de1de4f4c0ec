import PresenceProtocol
import Redis

/// Things of which an owner has at most one, and which have at most one owner: unique names, addresses.
///
/// The owner's record and the claim on the thing are in different partitions, so a change is an intent (`Intents`):
///
///     want ─▶ take ─▶ change ─▶ drop the former thing ─▶ (answered) confirm ─▶ end
///      │        │ another owner's claim: does that owner's record have its number, as held or wanted?
///      │        ├─ yes ─▶ reject
///      │        └─ no: the claim was made for a closed wish ─▶ drop it, take again
///      └ an earlier wish is open ─▶ carry that out first
///
/// Each wish has a number that only grows in its owner's record. A claim consists of owner and number, and is dropped
/// only if both match. So a late executor neither undoes nor revives anything. In a change from one thing to another
/// the owner always has one of the two: `change` replaces the one by the other in the record, which is what others see.
///
/// A claim that was made late, for a closed wish, is in its own partition's `unfinished` until it is compared with its
/// owner's record. It is removed after the next sweep, or at once if another owner wants the thing.
package final class Claiming {
    unowned let shard: ShardLogic
    let plan: ClaimPlan
    private let change: ClaimChange

    /// The outcome of a wish.
    private enum Fate {
        /// With the words that the wish's own change adds to the reply.
        case fulfilled([RedisValue] = [])
        case refused
        /// A later wish of the same owner was carried out first, so the outcome is unknown.
        case overtaken
        /// It is closed, and its own change was not made.
        case undone
        /// The wish's own change was not made, and replied this.
        case replied(RedisValue)

        func reply() throws(RedisFailure) -> RedisValue {
            switch self {
            case .fulfilled(let more): .array([.status("OK"), .status("HELD")] + more)
            case .refused: .array([.status("OK"), .status("TAKEN")])
            case .undone: .array([.status("OK"), .status("GONE")])
            case .replied(let value): value
            case .overtaken: throw .disconnected(sent: true)
            }
        }
    }

    private struct Wish {
        let owner: Identifier
        let number: String
        /// `nil`: the owner gives up the thing it has.
        let thing: Identifier?
        /// Replaces the plan's change; only the executor that received the request has it.
        var change: ClaimChange?
    }

    /// - Parameter change: The call of the plan's script.
    package init(
        _ plan: ClaimPlan, _ shard: ShardLogic, in registry: inout Registry, change: @escaping ClaimChange
    ) {
        self.plan = plan
        self.shard = shard
        self.change = change
        registry.intents(plan.name) { [unowned self] (run) throws(RedisFailure) in
            .done(try (await carryOutOpen(of: run.intent.subject, run) ?? .fulfilled()).reply())
        }
        registry.intents(plan.checkName) { [unowned self] (run) throws(RedisFailure) in
            try await check(run.intent.subject, run)
            return .ok
        }
    }

    // MARK: Wishes

    /// Gives `owner` this thing in place of the one it has, or none.
    ///
    /// - Parameters:
    ///   - shown: The spelling to show: the same thing may have several, for example with capitals.
    ///   - change: Replaces the plan's change. If this server dies on the way, another one completes the wish with the
    ///     plan's.
    ///   - writer: The user who makes the request; `nil` if no user who could be signed out makes it.
    /// - Returns: `OK HELD`, or `OK TAKEN` if another owner has it. With a change of its own: `OK HELD` and that
    ///   change's words, or its other reply; `OK GONE` if another executor came first, and it was not made.
    package func want(
        _ thing: Identifier?, as shown: String, for owner: Identifier, change: ClaimChange? = nil,
        by writer: Writer? = nil
    ) async throws(Refusal) -> ScriptReply {
        try await shard.carryOut(intent(of: owner)) { [self] (run) throws(RedisFailure) in
            .done(try await want(thing, shown, owner, change, writer, run).reply())
        }
    }

    /// Carries out an intent that a script of the feature wrote for an owner (`abandon`), or that another server left.
    /// If that fails now, a sweep does it.
    package func finish(_ owner: Identifier) async {
        _ = await shard.tasks.wait { shard.intents.begin(intent(of: owner), reply: $0) }
    }

    // MARK: Steps

    private func want(
        _ thing: Identifier?, _ shown: String, _ owner: Identifier, _ change: ClaimChange?, _ writer: Writer?,
        _ run: IntentRun
    ) async throws(RedisFailure) -> Fate {
        let call = ScriptCall(
            .claimWant, in: shard.partitions.keys(of: owner), recordKeys(of: owner),
            ["intent": intent(of: owner).member, "thing": thing, "shown": thing == nil ? "" : shown], by: writer)
        while true {
            let reply = try await run.step(call, about: owner)
            switch reply.word {
            case "HELD": return .fulfilled()
            case "OPEN": _ = try await carryOutOpen(of: owner, run)
            default:
                guard let number = reply[0].string else { throw .unexpectedReply }
                return try await carryOut(
                    Wish(owner: owner, number: number, thing: thing, change: change), run, answers: true)
            }
        }
    }

    /// Carries out the owner's open wish; `nil` if there is none.
    private func carryOutOpen(of owner: Identifier, _ run: IntentRun) async throws(RedisFailure) -> Fate? {
        let state = try await read(owner, run)
        guard let wish = state.wish else { return nil }
        return state.isFulfilled ? try await change(wish, run) : try await carryOut(wish, run)
    }

    /// - Parameter answers: Whether the request is answered as soon as the wish is fulfilled.
    private func carryOut(_ wish: Wish, _ run: IntentRun, answers: Bool = false) async throws(RedisFailure) -> Fate {
        guard let thing = wish.thing else { return try await change(wish, run, answers: answers) }
        while true {
            let reply = try await step(.claimTake, thing, wish.owner, wish.number, run)
            if reply.word == "OK" { return try await change(wish, run, answers: answers) }
            guard reply.word == "HELD", let other = reply[0].string.flatMap({ Identifier($0) }),
                let number = reply[1].string
            else { throw .unexpectedReply }
            if try await read(other, run).means(number) { return try await refuse(wish, run, answers: answers) }
            try await step(.claimDrop, thing, other, number, run)
        }
    }

    /// In the owner's record the wanted thing becomes the owned one; every other step follows from that.
    private func change(_ wish: Wish, _ run: IntentRun, answers: Bool = false) async throws(RedisFailure) -> Fate {
        let own = wish.change
        let call = (own ?? change)(
            ClaimWish(wish.owner, intent: intent(of: wish.owner).member, number: wish.number),
            shard.partitions.keys(of: wish.owner))
        let reply = try await run.step(call, about: wish.owner)
        if reply.word == "OK" {
            guard let released = reply[0].string else { throw .unexpectedReply }
            let fate = Fate.fulfilled(Array(reply.rest.dropFirst()))
            try await drop(released, of: wish.owner, run)
            if answers { run.answer(try fate.reply()) }
            if let thing = wish.thing { try await step(.claimConfirm, thing, wish.owner, wish.number, run) }
            try await end(wish, isFulfilled: true, run)
            return fate
        }
        let isGone = reply.word == "GONE"
        guard isGone ? reply[0].string != nil : own != nil && wish.thing != nil else { throw .unexpectedReply }
        if let thing = wish.thing { try await step(.claimDrop, thing, wish.owner, wish.number, run) }
        guard isGone else { return .replied(reply.value) }
        return reply[0].string == wish.number ? .refused : own == nil ? .overtaken : .undone
    }

    /// Drops the claims that a fulfilled wish releases, "NUMBER THING" for each.
    private func drop(_ released: String, of owner: Identifier, _ run: IntentRun) async throws(RedisFailure) {
        let words = released.split(separator: " ").map(String.init)
        guard words.count.isMultiple(of: 2) else { throw .unexpectedReply }
        for place in stride(from: 0, to: words.count, by: 2) {
            guard let thing = Identifier(words[place + 1]) else { throw .unexpectedReply }
            try await step(.claimDrop, thing, owner, words[place], run)
        }
    }

    private func refuse(_ wish: Wish, _ run: IntentRun, answers: Bool) async throws(RedisFailure) -> Fate {
        let reply = try await end(wish, isFulfilled: false, run)
        switch reply.word {
        case "OK": return .refused
        case "OPEN": return try await change(wish, run, answers: answers)
        default: return reply[0].string == wish.number ? .refused : .overtaken
        }
    }

    @discardableResult
    private func end(_ wish: Wish, isFulfilled: Bool, _ run: IntentRun) async throws(RedisFailure) -> ScriptReply {
        let call = ScriptCall(
            .claimEnd, in: shard.partitions.keys(of: wish.owner), recordKeys(of: wish.owner),
            ["intent": intent(of: wish.owner).member, "number": wish.number, "isDone": isFulfilled])
        return try await run.step(call, about: wish.owner)
    }

    // MARK: Claims

    /// Compares a claim with its owner's record.
    private func check(_ thing: Identifier, _ run: IntentRun) async throws(RedisFailure) {
        let call = ScriptCall(
            .claimLook, in: shard.partitions.keys(of: thing), claimKeys(on: thing),
            ["intent": plan.check(of: thing), "thing": thing])
        let reply = try await run.step(call, about: thing)
        guard reply.word != "NONE" else { return }
        guard let owner = reply[0].string.flatMap({ Identifier($0) }), let number = reply[1].string else {
            throw .unexpectedReply
        }
        let state = try await read(owner, run)
        // The executor of an open wish confirms or drops its claim.
        if state.claim != number, state.means(number) { return }
        try await step(state.claim == number ? .claimConfirm : .claimDrop, thing, owner, number, run)
    }

    /// A step with a claim on a thing.
    @discardableResult
    private func step(
        _ script: Script, _ thing: Identifier, _ owner: Identifier, _ number: String, _ run: IntentRun
    ) async throws(RedisFailure) -> ScriptReply {
        let call = ScriptCall(
            script, in: shard.partitions.keys(of: thing), claimKeys(on: thing),
            ["intent": plan.check(of: thing), "thing": thing, "owner": owner, "number": number])
        return try await run.step(call, about: thing)
    }

    private func claimKeys(on thing: Identifier) -> KeyValuePairs<StaticString, String> {
        let keys = shard.partitions.keys(of: thing)
        return ["unfinished": keys.unfinished, "claims": plan.claims(on: thing, in: keys)]
    }

    // MARK: Records

    private struct State {
        let wish: Wish?
        let claim: String

        var isFulfilled: Bool { wish?.number == claim }
        /// Whether the record has a claim with this number, as held or wanted. If not, it never will.
        func means(_ number: String) -> Bool { claim == number || wish?.number == number }
    }

    private func read(_ owner: Identifier, _ run: IntentRun) async throws(RedisFailure) -> State {
        let call = ScriptCall(
            .claimState, in: shard.partitions.keys(of: owner), recordKeys(of: owner),
            ["intent": intent(of: owner).member])
        let texts = try await run.step(call, about: owner).rest.compactMap(\.string)
        guard texts.count == 3 else { throw .unexpectedReply }
        let wish = texts[0].isEmpty ? nil : Wish(owner: owner, number: texts[0], thing: Identifier(texts[1]))
        return State(wish: wish, claim: texts[2])
    }

    private func intent(of owner: Identifier) -> Intent { Intent(IntentKind(name: plan.name), owner) }

    private func recordKeys(of owner: Identifier) -> KeyValuePairs<StaticString, String> {
        let keys = shard.partitions.keys(of: owner)
        return ["unfinished": keys.unfinished, "record": plan.record(of: owner, in: keys)]
    }
}

/// Reads the owner of a thing, for requests that change nothing.
extension Claiming {
    /// The owner of a thing now.
    package struct Holder {
        package let owner: Identifier
        /// Whether the owner's record has the thing already; otherwise the record is about to get it.
        package let isHeld: Bool
    }

    /// Returns the owner of a thing. An owner whose record is about to get the thing counts too. The result is `nil` if
    /// there is no owner, even if a claim of a former owner is left.
    package func owner(of thing: Identifier) async throws(RedisFailure) -> Holder? {
        guard let (owner, number) = try await claim(on: thing) else { return nil }
        let record = plan.record(of: owner, in: shard.partitions.keys(of: owner))
        let texts = (try await shard.command(["HMGET", record, "held", "claim", "wish"]).array ?? []).map(\.string)
        guard texts.count == 3 else { return nil }
        let isHeld = texts[0] == thing.string
        return isHeld || texts[2] == number ? Holder(owner: owner, isHeld: isHeld) : nil
    }

    /// The owner that a claim on a thing names, and the claim's number. The caller compares it with the owner's record,
    /// which may not have the thing yet, or any more. `nil` if there is no claim.
    package func claim(on thing: Identifier) async throws(RedisFailure) -> (owner: Identifier, number: String)? {
        let claims = plan.claims(on: thing, in: shard.partitions.keys(of: thing))
        guard let claim = try await shard.command(["HGET", claims, thing.string]).string else { return nil }
        let words = claim.split(separator: " ").map(String.init)
        guard words.count == 2, let owner = Identifier(words[0]) else {
            shard.recordDamage("claim " + plan.claim.name, of: thing)
            throw .server(code: "ERR", message: "a malformed claim")
        }
        return (owner, words[1])
    }
}
