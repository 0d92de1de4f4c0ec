import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer

extension SimulatedHistory {
    /// The history of a seed. The same seed gives the same history everywhere.
    ///
    /// - Parameter faults: the kinds of faults; `nil` draws them too.
    static func drawn(from seed: UInt64, faults: [Int]? = nil) -> SimulatedHistory {
        var draw = Draw(random: SplitMix64(seed &* 0x9E37_79B9 &+ 77))
        draw.given = faults
        var history = SimulatedHistory(seed: seed, steps: [])
        history.people = draw.pick(2...5)
        history.shards = draw.pick(2...4)
        history.times = draw.chance(1, of: 5) ? .defaults : .short
        history.steps = draw.steps(people: history.people, shards: history.shards)
        history.connections = draw.chance(1, of: 3) ? draw.pick(1...3) : 0
        history.interests = seed.isMultiple(of: 2)
        return history
    }

    /// Many people, each of whom watches few; fewer faults at once.
    static func crowd(_ people: Int, from seed: UInt64) -> SimulatedHistory {
        var draw = Draw(random: SplitMix64(seed &* 0x9E37_79B9 &+ 78))
        var history = SimulatedHistory(seed: seed, people: people, shards: 4, steps: [])
        history.interests = seed.isMultiple(of: 2)
        for person in 0..<people {
            history.steps.append(draw.connect(person: person))
            if person % 20 == 0 { history.steps.append(.wait(10)) }
        }
        for _ in 0..<3 {
            for _ in 0..<people / 2 { history.steps.append(draw.ofPeople(people, 4)) }
            history.steps += draw.steps(people: people, shards: 4)
        }
        return history
    }
}

/// Draws steps. First it draws which kinds of faults occur: a history with all kinds hides the effects of two alone.
private struct Draw {
    var random: SplitMix64
    var given: [Int]?
    private var faults: [Int] = []

    init(random: SplitMix64) { self.random = random }

    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func chance(_ some: Int, of all: Int) -> Bool { pick(1...all) <= some }

    mutating func steps(people: Int, shards: Int) -> [Step] {
        faults = given ?? (0..<Self.faultKinds).filter { _ in chance(2, of: 5) }
        var steps: [Step] = []
        for _ in 0..<pick(1...2) {
            for _ in 0..<min(people, 5) { steps.append(connect(person: pick(0...people - 1))) }
            for _ in 0..<pick(15...45) {
                if !faults.isEmpty, chance(1, of: 3) {
                    steps += fault(faults[pick(0...faults.count - 1)], people, shards)
                } else {
                    steps.append(ofPeople(people, shards))
                }
                if let pause = pause() { steps.append(.wait(pause)) }
            }
            steps.append(.quiet)
        }
        return steps
    }

    /// Many steps follow each other closely, but any pause is possible.
    private mutating func pause() -> Int? {
        switch pick(0...9) {
        case 0...2: nil
        case 3: pick(1...20)
        case 4...6: pick(20...800)
        case 7, 8: pick(800...3_000)
        default: pick(3_000...12_000)
        }
    }

    mutating func connect(person: Int) -> Step {
        .connect(
            person: person, place: pick(0...SimulatedHistory.places - 1), shard: pick(0...3), activity: pick(0...2),
            status: chance(1, of: 8) ? pick(1...3) : 0)
    }

    mutating func ofPeople(_ people: Int, _ shards: Int) -> Step {
        let person = pick(0...people - 1)
        let place = pick(0...SimulatedHistory.places - 1)
        switch pick(0...44) {
        case 41...43: return .rush(person: person, place: place, shard: pick(0...3), what: pick(0...4))
        case 44: return .flash(person: person, place: place, shard: pick(0...3))
        case 0...11: return connect(person: person)
        case 12...13: return .close(person: person, place: place)
        case 14...16: return .lose(person: person, place: place)
        case 17: return .vanish(person: person, place: place)
        case 18...22: return .move(person: person, place: place, shard: pick(0...3), after: pick(0...2_500))
        case 23...26: return .activity(person: person, place: place, state: pick(0...2))
        case 27...31:
            return .status(
                person: person, place: place, status: pick(0...2), text: pick(0...99),
                clearAfter: chance(1, of: 3) ? pick(1_000...6_000) : 0)
        case 32...34: return .name(person: person, place: place, name: pick(0...99))
        case 35, 36: return .typing(person: person, place: place, on: pick(0...3) == 0 ? 0 : 1)
        case 37: return .readSlowly(person: person, place: place)
        case 38: return .readAgain(person: person, place: place)
        case 39: return .unwatch(person: person, place: place, whom: pick(0...people - 1))
        default: return .watch(person: person, place: place, whom: pick(0...people - 1))
        }
    }

    private static let faultKinds = 17
    /// The places of the scripts that histories run: a refusal of another one changes nothing.
    private static let played = Script.played.map { Script.allCases.firstIndex(of: $0)! }

    private mutating func fault(_ kind: Int, _ people: Int, _ shards: Int) -> [Step] {
        let shard = pick(0...shards - 1)
        switch kind {
        case 0: return chance(1, of: 2) ? [.kill(shard: shard)] : [.start(shard: shard)]
        case 1: return chance(1, of: 2) ? [.stop(shard: shard)] : [.wake(shard: shard)]
        case 2: return [.roll(shard: shard)]
        case 3:
            return [chance(1, of: 2) ? .cutCommands(shard: shard) : .cutLease(shard: shard)]
        case 4: return [.cutSubscription(shard: shard)]
        case 5: return [.cutAll(shard: shard)]
        case 6: return [.holdCommands(shard: shard, ms: pick(50...8_000))]
        case 7: return [.holdLease(shard: shard, ms: pick(50...8_000))]
        case 8: return [chance(1, of: 2) ? .holdEvents(shard: shard, ms: pick(50...6_000)) : .deafen(shard: shard)]
        case 9: return [.silence(ms: pick(20...7_000))]
        case 10:
            return chance(1, of: 2)
                ? [.remember] : [.restart(after: pick(0...6_000), data: pick(0...2), clock: clock())]
        case 11: return [.refuse(script: Self.played[pick(0...Self.played.count - 1)], times: pick(1...2))]
        case 12: return [.refuseAll(why: pick(0...Refusing.allCases.count - 1), ms: pick(200...9_000))]
        case 13:
            let person = pick(0...people - 1)
            // A request with a revoked token, on a server that does not know of the revocation.
            if chance(1, of: 3) {
                return [
                    .holdEvents(shard: shard, ms: pick(50...3_000)),
                    .revoke(person: person, shard: pick(0...shards - 1)),
                    .wait(pick(20...200)),
                    .name(person: person, place: pick(0...SimulatedHistory.places - 1), name: pick(0...99)),
                ]
            }
            return [
                chance(1, of: 2) ? .disconnect(person: person, shard: shard) : .revoke(person: person, shard: shard)
            ]
        case 14: return chance(1, of: 3) ? [.blackout(ms: pick(0...12_000))] : [.kill(shard: shard)]
        case 15:
            return chance(1, of: 3) ? [.jump(clock: clock())] : [.restart(after: pick(0...6_000), data: 0, clock: 0)]
        default:
            // A typing user becomes invisible while Redis breaks: the last event about it may be lost.
            let (person, place) = (pick(0...people - 1), pick(0...SimulatedHistory.places - 1))
            return [
                .typing(person: person, place: place, on: 1), .wait(pick(20...600)),
                .status(person: person, place: place, status: 2, text: pick(0...99), clearAfter: 0), .wait(pick(1...8)),
                chance(1, of: 2) ? .cutAll(shard: shard) : .restart(after: pick(0...50), data: 0, clock: 0),
            ]
        }
    }

    /// By how much one host's clock is ahead of another's.
    private mutating func clock() -> Int {
        switch pick(0...5) {
        case 0: pick(-3_600_000...3_600_000)
        case 1, 2: pick(-10_000...10_000)
        default: 0
        }
    }
}
