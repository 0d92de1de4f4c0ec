/// The mistakes that histories have to find.
extension Mutation {
    static let all: [Mutation] = [
        Mutation(
            name: "a missing fence: whoever is taken for dead may still write",
            replacing: (
                "return redis.call('SISMEMBER', shardsKey, incarnation) == 0",
                "return false"
            ), faults: [0, 6]),
        Mutation(
            name: "a version is not raised above the floor",
            replacing: (
                "math.max(tonumber(last or '0'), floor, now - 1) + 1", "math.max(tonumber(last or '0'), now - 1) + 1"
            ), faults: [10]
        ),
        Mutation(
            name: "a stale timer: the end of an earlier status ends the next",
            replacing: (
                "put(user, 'clearAt', clearAfter ~= '' and int(now + tonumber(clearAfter)))",
                "if clearAfter ~= '' then put(user, 'clearAt', int(now + tonumber(clearAfter))) end"
            ), faults: []),
        Mutation(name: "a lost resubscription: only the canary comes back", misbehaviour: [.losesResubscription]),
        Mutation(
            name: "linger dropped at a move: a lost line looks like a goodbye", misbehaviour: [.takesLossForGoodbye]),
        Mutation(
            name: "a change that nobody can see is announced",
            replacing: ("if shown == user.shown then return end", "")),
        Mutation(
            name: "a late sweep reaps those who could not renew",
            replacing: (
                "local late = gap < 0 or gap > tonumber(ARGV[3])",
                "local late = false"
            ), faults: [9]),
        Mutation(
            name: "the dead keep their right to write",
            replacing: ("redis.call('SREM', KEYS[1], ARGV[2])\n-- Its", "-- Its"), faults: [0]),
        Mutation(
            name: "the older connection of a device comes back in the younger one's place",
            replacing: (
                "if tonumber(since) > began and tonumber(since) <= now then return { 'REPLACED' } end", ""
            ), faults: [5]),
        Mutation(
            name: "a leaver's last session stays in the dead one's list",
            replacing: ("if not left then redis.call('SREM', KEYS[5], ARGV[4]) end", "")),
    ]
}
