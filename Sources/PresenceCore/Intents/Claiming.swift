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

    private typealias Then = (Fate) -> IntentProgress

    /// The outcome of a wish.
    private enum Fate {
        /// With the words that the wish's own change adds to the reply.
        case fulfilled([RedisValue] = [])
        case refused
        /// A later wish of the same owner was carried out first, so the outcome is unknown.
        case overtaken
        /// It is closed, and its own change was not made.
        case undone

        var end: IntentProgress {
            switch self {
            case .fulfilled(let more): .end(.array([.status("OK"), .status("HELD")] + more))
            case .refused: .end(.array([.status("OK"), .status("TAKEN")]))
            case .undone: .end(.array([.status("OK"), .status("GONE")]))
            case .overtaken: .fail(.disconnected(sent: true))
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
        registry.intents(plan.name) { [unowned self] in resume($0) }
        registry.intents(plan.checkName) { [unowned self] in check($0) }
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
        try await shard.carryOut(intent(of: owner), first: want(thing, shown, owner, change, writer))
    }

    /// Carries out an intent that a script of the feature wrote for an owner (`abandon`), or that another server left.
    /// If that fails now, a sweep does it.
    package func finish(_ owner: Identifier) async {
        _ = await shard.tasks.wait { shard.intents.begin(intent(of: owner), first: resume(owner), reply: $0) }
    }

    private func resume(_ owner: Identifier) -> IntentStep {
        state(of: owner) { ($0 ?? .fulfilled()).end }
    }

    // MARK: Steps

    private func want(
        _ thing: Identifier?, _ shown: String, _ owner: Identifier, _ change: ClaimChange?, _ writer: Writer?
    ) -> IntentStep {
        let call = ScriptCall(
            .claimWant, in: shard.partitions.keys(of: owner), recordKeys(of: owner),
            ["intent": intent(of: owner).member, "thing": thing, "shown": thing == nil ? "" : shown], by: writer)
        return IntentStep(call, about: owner) { [self] reply in
            switch reply.word {
            case "HELD": return Fate.fulfilled().end
            case "OPEN": return .step(state(of: owner) { [self] _ in .step(want(thing, shown, owner, change, writer)) })
            default:
                guard let number = reply[0].string else { return .damaged }
                let wish = Wish(owner: owner, number: number, thing: thing, change: change)
                return .step(carryOut(wish, answers: true) { $0.end })
            }
        }
    }

    /// Reads the state of the owner's wish and carries it out; `then` gets the outcome, `nil` if there was no wish.
    private func state(of owner: Identifier, then: @escaping (Fate?) -> IntentProgress) -> IntentStep {
        read(owner) { [self] state in
            guard let wish = state.wish else { return then(nil) }
            return .step(
                state.isFulfilled
                    ? change(wish, answers: false, then: then) : carryOut(wish, answers: false, then: then))
        }
    }

    private func carryOut(_ wish: Wish, answers: Bool, then: @escaping Then) -> IntentStep {
        guard let thing = wish.thing else { return change(wish, answers: answers, then: then) }
        return step(.claimTake, thing, wish.owner, wish.number) { [self] reply in
            switch reply.word {
            case "OK": return .step(change(wish, answers: answers, then: then))
            case "HELD":
                guard let other = reply[0].string.flatMap({ Identifier($0) }), let number = reply[1].string else {
                    return .damaged
                }
                return .step(
                    read(other) { [self] state in
                        guard !state.means(number) else { return .step(refuse(wish, answers: answers, then: then)) }
                        return .step(
                            step(.claimDrop, thing, other, number) { [self] _ in
                                .step(carryOut(wish, answers: answers, then: then))
                            })
                    })
            default: return .damaged
            }
        }
    }

    /// In the owner's record the wanted thing becomes the owned one; every other step follows from that.
    private func change(_ wish: Wish, answers: Bool, then: @escaping Then) -> IntentStep {
        let own = wish.change
        let call = (own ?? change)(
            ClaimWish(wish.owner, intent: intent(of: wish.owner).member, number: wish.number),
            shard.partitions.keys(of: wish.owner))
        return IntentStep(call, about: wish.owner) { [self] reply in
            switch reply.word {
            case "OK":
                guard let released = reply[0].string else { return .damaged }
                let fate = Fate.fulfilled(Array(reply.rest.dropFirst()))
                let rest = confirm(wish) { _ in then(fate) }
                guard answers, case .end(let value) = fate.end else {
                    return drop(released, of: wish.owner, .step(rest))
                }
                return drop(released, of: wish.owner, .answer(value, then: rest))
            case "GONE":
                guard let last = reply[0].string else { return .damaged }
                let fate: Fate = last == wish.number ? .refused : own == nil ? .overtaken : .undone
                guard let thing = wish.thing else { return then(fate) }
                return .step(step(.claimDrop, thing, wish.owner, wish.number) { _ in then(fate) })
            default:
                guard own != nil, let thing = wish.thing else { return .damaged }
                return .step(step(.claimDrop, thing, wish.owner, wish.number) { _ in .end(reply.value) })
            }
        }
    }

    /// Drops the claims that a fulfilled wish releases, "NUMBER THING" for each, and continues.
    private func drop(_ released: String, of owner: Identifier, _ next: IntentProgress) -> IntentProgress {
        let words = released.split(separator: " ").map(String.init)
        guard words.count.isMultiple(of: 2) else { return .damaged }
        return stride(from: 0, to: words.count, by: 2).reduce(next) { next, place in
            guard let thing = Identifier(words[place + 1]) else { return .damaged }
            return .step(step(.claimDrop, thing, owner, words[place]) { _ in next })
        }
    }

    private func confirm(_ wish: Wish, then: @escaping Then) -> IntentStep {
        let end = end(wish, isFulfilled: true) { _ in then(.fulfilled()) }
        guard let thing = wish.thing else { return end }
        return step(.claimConfirm, thing, wish.owner, wish.number) { _ in .step(end) }
    }

    private func refuse(_ wish: Wish, answers: Bool, then: @escaping Then) -> IntentStep {
        end(wish, isFulfilled: false) { [self] reply in
            switch reply.word {
            case "OK": then(.refused)
            case "OPEN": .step(change(wish, answers: answers, then: then))
            default: then(reply[0].string == wish.number ? .refused : .overtaken)
            }
        }
    }

    private func end(
        _ wish: Wish, isFulfilled: Bool, next: @escaping (ScriptReply) -> IntentProgress
    ) -> IntentStep {
        let call = ScriptCall(
            .claimEnd, in: shard.partitions.keys(of: wish.owner), recordKeys(of: wish.owner),
            ["intent": intent(of: wish.owner).member, "number": wish.number, "isDone": isFulfilled])
        return IntentStep(call, about: wish.owner, next: next)
    }

    // MARK: Claims

    /// Compares a claim with its owner's record.
    private func check(_ thing: Identifier) -> IntentStep {
        let call = ScriptCall(
            .claimLook, in: shard.partitions.keys(of: thing), claimKeys(on: thing),
            ["intent": plan.check(of: thing), "thing": thing])
        return IntentStep(call, about: thing) { [self] reply in
            guard reply.word != "NONE" else { return Fate.fulfilled().end }
            guard let owner = reply[0].string.flatMap({ Identifier($0) }), let number = reply[1].string else {
                return .damaged
            }
            return .step(
                read(owner) { [self] state in
                    // The executor of an open wish confirms or drops its claim.
                    if state.claim != number, state.means(number) { return Fate.fulfilled().end }
                    let script: Script = state.claim == number ? .claimConfirm : .claimDrop
                    return .step(step(script, thing, owner, number) { _ in Fate.fulfilled().end })
                })
        }
    }

    /// A step with a claim on a thing.
    private func step(
        _ script: Script, _ thing: Identifier, _ owner: Identifier, _ number: String,
        next: @escaping (ScriptReply) -> IntentProgress
    ) -> IntentStep {
        let call = ScriptCall(
            script, in: shard.partitions.keys(of: thing), claimKeys(on: thing),
            ["intent": plan.check(of: thing), "thing": thing, "owner": owner, "number": number])
        return IntentStep(call, about: thing, next: next)
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

    private func read(_ owner: Identifier, next: @escaping (State) -> IntentProgress) -> IntentStep {
        let call = ScriptCall(
            .claimState, in: shard.partitions.keys(of: owner), recordKeys(of: owner),
            ["intent": intent(of: owner).member])
        return IntentStep(call, about: owner) { reply in
            let texts = reply.rest.compactMap(\.string)
            guard texts.count == 3 else { return .damaged }
            let wish = texts[0].isEmpty ? nil : Wish(owner: owner, number: texts[0], thing: Identifier(texts[1]))
            return next(State(wish: wish, claim: texts[2]))
        }
    }

    private func intent(of owner: Identifier) -> Intent { Intent(IntentKind(name: plan.name), owner) }

    private func recordKeys(of owner: Identifier) -> KeyValuePairs<StaticString, String> {
        let keys = shard.partitions.keys(of: owner)
        return ["unfinished": keys.unfinished, "record": plan.record(of: owner, in: keys)]
    }
}
