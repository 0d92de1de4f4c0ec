import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Faults in a `TalkHistory` between a script and its answer.
extension TalkHistory {
    private static let scripts: Set<Script> = Set(Script.conversations + Script.messageScripts)
    /// Steps of intents, which no client requests.
    private static let steps: Set<Script> = [
        .joining, .enroll, .settle, .reserve, .receiptsPage, .receiptsMember, .departing, .depart,
    ]

    func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        if case .success(let value) = answer, value.array?.first?.string == "OK" { recordScript(script, arguments) }
        guard Self.scripts.contains(script), arguments.count > 2, !isQuiet,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        if script == .send { sent += 1 }
        if dropsAnswers, case .success = answer,
            losesStep(script, arguments) || people.contains(where: { $0.losesAnswer(of: script, arguments, on: place) })
        {
            lostAnswers["answers of \(script.name) lost", default: 0] += 1
            world.after(0) { [unowned self] in world.shards[place].cut(.commands) }
        }
        guard draw(0...99) < trouble else { return }
        deaths += 1
        world.after(0) { [unowned self] in harm(place) }
    }

    /// Whether this step of an intent has just succeeded for the first time since the last change of members.
    private func losesStep(_ script: Script, _ arguments: [String]) -> Bool {
        guard Self.steps.contains(script) else { return false }
        let step = [script.name, String(memberChanges)] + arguments.dropFirst(3)
        return lostSteps.insert(step.joined(separator: " ")).inserted
    }

    private func setClockBack() {
        recordStepBack()
        world.redisEpoch -= Milliseconds(draw(1_000...3_600_000))
    }

    /// After some time without a change, Redis' clock is set back while a server has lost Redis. The changes that its
    /// users miss meanwhile have versions from before the loss.
    func missChanges() throws {
        // Redis' clock alone shows that time has passed.
        world.redisEpoch += Milliseconds(draw(0...7_200_000))
        try world.run(for: 3_000)
        world.shards[draw(0...2)].loseRedis(for: Milliseconds(draw(500...4_500)))
        setClockBack()
        for _ in 0..<draw(1...3) {
            step()
            try world.run(for: Milliseconds(draw(0...300)))
            try check()
        }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        if clockSteps, draw(0...1) == 0 { setClockBack() }
        switch draw(0...(redisTrouble == nil ? 7 : 9)) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
            hasten(world.shards[place])
            webhooks?.record(world.shards[place])
        case 2: shard.cut(.commands)
        case 3: shard.cutAll()
        case 4: shard.cutSubscription()
        case 5:
            let duration = Milliseconds(draw(100...4_500))
            lateUntil = max(lateUntil, world.now + duration)
            shard.hold(.commands, for: duration)
        case 6: shard.holdEvents(for: Milliseconds(draw(50...2_000)))
        case 7:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        default: redisTrouble?.begin(draw)
        }
    }
}
