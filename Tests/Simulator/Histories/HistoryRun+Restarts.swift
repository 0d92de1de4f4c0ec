import PresenceProtocol

@testable import PresenceCore

/// Redis ends and returns: with its data, without, or with old data, and with another clock.
extension HistoryRun {
    func remember() throws {
        try world.redis.remember()
        rememberedEpoch = world.redisEpoch
    }

    func restart(_ pause: Milliseconds, _ data: Int, _ clock: Milliseconds) throws {
        world.redis.isGone = true
        redisIsDown(.restart)
        deafSince = [:]
        for shard in world.shards where !shard.isDead { shard.cutAll() }
        try wait(pause)
        if data > 0 {
            if data == 1 { _ = world.redis.command(["FLUSHALL"]) } else { try goBack() }
            hasLostData = true
            for person in people {
                person.announced = nil
                person.invisibleOn = nil
                person.stays.forEach { $0.bannedAt = nil }
                person.revokedAt = 0
                person.forgetWrites()
            }
        }
        if clock != 0 { jump(clock) }
        redisIsUp(.restart)
        world.redis.isGone = false
    }

    private func goBack() throws {
        try world.redis.goBack()
        if let rememberedEpoch, rememberedEpoch != world.redisEpoch { jump(0) }
    }

    func jump(_ clock: Milliseconds) {
        world.redisEpoch += clock
        jumpedAt = world.now
        troubledAt = world.now
    }
}
