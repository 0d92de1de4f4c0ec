import PresenceProtocol
import Redis

/// Things of which an owner has at most one, and each of which has at most one owner: unique names, addresses.
///
/// The owner's record and the claim on the thing are in different partitions, so a change is an intent (`Intents`):
///
///     want ─▶ take ─▶ change ─▶ drop the former thing ─▶ (answered) confirm ─▶ end
///      │        │ another's claim: does its owner's record hold or want its number?
///      │        ├─ yes ─▶ refused
///      │        └─ no: it was taken for a wish that is over ─▶ drop it, take again
///      └ an earlier wish is open ─▶ carry that out first
///
/// Each wish has a number that only grows in its owner's record; a claim is owner and number, and is dropped only if both
/// are what the dropping executor means. So a late executor neither undoes nor revives anything. Between two things the
/// owner is never without one: `change` replaces the one by the other in the record, which is what others see.
///
/// A claim that was taken late, for a wish that is over, stands in its own partition's `unfinished` until it was compared
/// with its owner's record: it is gone after the next sweep, or at once if somebody wants the thing.
package final class Claiming {
    unowned let shard: ShardLogic
    let plan: ClaimPlan
    private let owners: IntentKind
    private let things: IntentKind
    /// Further keys of the kind's own script, after those of every change.
    private let keys: (Identifier, PartitionKeys) -> [String]

    private typealias Then = (Fate) -> IntentProgress

    /// What became of a wish.
    private enum Fate {
        /// With what a change of its own has said beside.
        case fulfilled([RedisValue] = [])
        case refused
        /// A later wish of the same owner was carried out before it could be seen.
        case overtaken
        /// It is over, and a change of its own has not been made.
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
        /// `nil`: the owner gives up what it has.
        let thing: Identifier?
        /// In the place of the plan's; only the executor that was asked has it.
        var change: ClaimChange?
    }

    /// - Parameter keys: Further keys that the plan's script gets for an owner.
    package init(
        _ plan: ClaimPlan, _ shard: ShardLogic, in registry: inout Registry,
        keys: @escaping (Identifier, PartitionKeys) -> [String] = { _, _ in [] }
    ) {
        self.plan = plan
        self.shard = shard
        self.keys = keys
        let (name, other) = (plan.name, plan.checkName)
        (owners, things) = (IntentKind(name: name), IntentKind(name: other))
        registry.intents(name) { [unowned self] in state(of: $0) { _, fate in (fate ?? .fulfilled()).end } }
        registry.intents(other) { [unowned self] in check($0) }
    }

    // MARK: Wishes

    /// `owner` wants this thing in the place of what it has, or none.
    ///
    /// - Parameters:
    ///   - shown: How it is shown: the same thing may be shown in several ways, such as with capitals.
    ///   - change: What is changed in the place of the plan's change. If this server dies on the way, another ends the wish
    ///     with the plan's.
    ///   - writer: Whose wish it is; `nil`: nobody's who could be signed out.
    ///   - reply: Gets `OK HELD`, `OK TAKEN` if another has it, or why it is not known. With a change of its own: `OK HELD`
    ///     and what that said behind, or what it said instead; `OK GONE` if another executor came first, and it was not made.
    package func want(
        _ thing: Identifier?, as shown: String, for owner: Identifier, change: ClaimChange? = nil,
        by writer: Writer? = nil, reply: @escaping StoreReply
    ) {
        shard.intents.begin(Intent(owners, owner), first: want(thing, shown, owner, change, writer), reply: reply)
    }

    /// Carries out what a script of the feature has written down for an owner (`abandon`), or another server left.
    ///
    /// - Parameter reply: As that of a wish.
    package func finish(_ owner: Identifier, reply: @escaping StoreReply) {
        let first = state(of: owner) { _, fate in (fate ?? .fulfilled()).end }
        shard.intents.begin(Intent(owners, owner), first: first, reply: reply)
    }

    private func want(
        _ thing: Identifier?, _ shown: String, _ owner: Identifier, _ change: ClaimChange?, _ writer: Writer?
    ) -> IntentStep {
        let plan = plan
        return IntentStep(
            .claimWant, Intent(owners, owner), keys: { [plan.record(of: owner, in: $0), $0.floor] + writer.keys },
            arguments: [thing?.string ?? "", thing == nil ? "" : shown]
        ) { [self] words in
            switch words.first?.string {
            case "HELD": return Fate.fulfilled().end
            case "OPEN":
                return .step(state(of: owner) { [self] _, _ in .step(want(thing, shown, owner, change, writer)) })
            case "WISH":
                guard words.count > 1, let number = words[1].string else { return .damaged }
                let wish = Wish(owner: owner, number: number, thing: thing, change: change)
                return .step(carryOut(wish, answers: true) { $0.end })
            default: return .damaged
            }
        }
    }

    /// Reads how far the owner's wish has come, and carries it out; `then` gets what became of it, `nil` if there was none.
    private func state(of owner: Identifier, then: @escaping (Claiming, Fate?) -> IntentProgress) -> IntentStep {
        read(owner) { [self] state in
            guard let wish = state.wish else { return then(self, nil) }
            return .step(
                state.isFulfilled
                    ? change(wish, answers: false) { [self] in then(self, $0) }
                    : carryOut(wish, answers: false) { [self] in then(self, $0) })
        }
    }

    private func carryOut(_ wish: Wish, answers: Bool, then: @escaping Then) -> IntentStep {
        guard let thing = wish.thing else { return change(wish, answers: answers, then: then) }
        return IntentStep(
            .claimTake, Intent(things, thing), keys: claimKey(thing), arguments: [wish.owner.string, wish.number]
        ) { [self] words in
            switch words.first?.string {
            case "OK": return .step(change(wish, answers: answers, then: then))
            case "HELD":
                guard words.count > 2, let other = words[1].string.flatMap({ Identifier($0) }),
                    let number = words[2].string
                else { return .damaged }
                return .step(
                    read(other) { [self] state in
                        guard !state.means(number) else { return .step(refuse(wish, answers: answers, then: then)) }
                        return .step(
                            drop(thing, of: other, number) { [self] in
                                .step(carryOut(wish, answers: answers, then: then))
                            })
                    })
            default: return .damaged
            }
        }
    }

    /// In the owner's record the wish becomes what is held; then all else follows from it.
    private func change(_ wish: Wish, answers: Bool, then: @escaping Then) -> IntentStep {
        let (plan, keys, own) = (plan, keys, wish.change)
        return IntentStep(
            own?.script ?? plan.change, Intent(owners, wish.owner),
            keys: { [plan.record(of: wish.owner, in: $0), $0.floor] + (own?.keys($0) ?? keys(wish.owner, $0)) },
            arguments: [wish.owner.string, wish.number] + (own?.arguments ?? [])
        ) { [self] words in
            guard let first = words.first?.string else { return .damaged }
            let word = words.count > 1 ? words[1].string : nil
            switch first {
            case "OK":
                guard let word else { return .damaged }
                let fate = Fate.fulfilled(Array(words.dropFirst(2)))
                let rest = confirm(wish) { _ in then(fate) }
                guard answers, case .end(let value) = fate.end else { return drop(word, of: wish.owner, .step(rest)) }
                return drop(word, of: wish.owner, .answer(value, then: rest))
            case "GONE":
                guard let word else { return .damaged }
                let fate: Fate = word == wish.number ? .refused : own == nil ? .overtaken : .undone
                guard let thing = wish.thing else { return then(fate) }
                return .step(drop(thing, of: wish.owner, wish.number) { then(fate) })
            default:
                guard own != nil, let thing = wish.thing else { return .damaged }
                return .step(drop(thing, of: wish.owner, wish.number) { .end(.array(words)) })
            }
        }
    }

    /// Gives up what a fulfilled wish releases, "NUMBER THING" for each, and goes on.
    private func drop(_ released: String, of owner: Identifier, _ next: IntentProgress) -> IntentProgress {
        let words = released.split(separator: " ").map(String.init)
        guard words.count.isMultiple(of: 2) else { return .damaged }
        return stride(from: 0, to: words.count, by: 2).reduce(next) { next, place in
            guard let thing = Identifier(words[place + 1]) else { return .damaged }
            return .step(drop(thing, of: owner, words[place]) { next })
        }
    }

    private func confirm(_ wish: Wish, then: @escaping Then) -> IntentStep {
        let end = end(wish, isFulfilled: true) { _ in then(.fulfilled()) }
        guard let thing = wish.thing else { return end }
        return IntentStep(
            .claimConfirm, Intent(things, thing), keys: claimKey(thing), arguments: [wish.owner.string, wish.number]
        ) { _ in .step(end) }
    }

    private func refuse(_ wish: Wish, answers: Bool, then: @escaping Then) -> IntentStep {
        end(wish, isFulfilled: false) { [self] words in
            switch words.first?.string {
            case "OK": then(.refused)
            case "OPEN": .step(change(wish, answers: answers, then: then))
            case "GONE" where words.count > 1: then(words[1].string == wish.number ? .refused : .overtaken)
            default: .damaged
            }
        }
    }

    private func end(
        _ wish: Wish, isFulfilled: Bool, next: @escaping ([RedisValue]) -> IntentProgress
    ) -> IntentStep {
        let plan = plan
        return IntentStep(
            .claimEnd, Intent(owners, wish.owner), keys: { [plan.record(of: wish.owner, in: $0)] },
            arguments: [wish.number, isFulfilled ? "1" : "0"], next: next)
    }

    // MARK: Claims

    /// Compares a claim with its owner's record.
    private func check(_ thing: Identifier) -> IntentStep {
        IntentStep(.claimLook, Intent(things, thing), keys: claimKey(thing)) { [self] words in
            guard words.first?.string == "OK" else { return .damaged }
            guard words.count > 2 else { return Fate.fulfilled().end }
            guard let owner = words[1].string.flatMap({ Identifier($0) }), let number = words[2].string else {
                return .damaged
            }
            return .step(
                read(owner) { [self] state in
                    if state.claim == number {
                        let wish = Wish(owner: owner, number: number, thing: thing)
                        return .step(
                            IntentStep(
                                .claimConfirm, Intent(things, thing), keys: claimKey(thing),
                                arguments: [wish.owner.string, wish.number]
                            ) { _ in Fate.fulfilled().end })
                    }
                    // Who still wants it confirms or drops it with the wish.
                    if state.means(number) { return Fate.fulfilled().end }
                    return .step(drop(thing, of: owner, number) { Fate.fulfilled().end })
                })
        }
    }

    private func drop(
        _ thing: Identifier, of owner: Identifier, _ number: String, next: @escaping () -> IntentProgress
    ) -> IntentStep {
        IntentStep(
            .claimDrop, Intent(things, thing), keys: claimKey(thing), arguments: [owner.string, number]
        ) { _ in next() }
    }

    private func claimKey(_ thing: Identifier) -> (PartitionKeys) -> [String] {
        let plan = plan
        return { [plan.claims(on: thing, in: $0)] }
    }

    // MARK: Records

    private struct State {
        let wish: Wish?
        let claim: String

        var isFulfilled: Bool { wish?.number == claim }
        /// Whether a claim with this number is held or wanted. If not, it never will be.
        func means(_ number: String) -> Bool { claim == number || wish?.number == number }
    }

    private func read(_ owner: Identifier, next: @escaping (State) -> IntentProgress) -> IntentStep {
        let plan = plan
        return IntentStep(.claimState, Intent(owners, owner), keys: { [plan.record(of: owner, in: $0)] }) { words in
            let texts = words.compactMap(\.string)
            guard texts.count == 4, texts[0] == "OK" else { return .damaged }
            let wish = texts[1].isEmpty ? nil : Wish(owner: owner, number: texts[1], thing: Identifier(texts[2]))
            return next(State(wish: wish, claim: texts[3]))
        }
    }
}
