/// The bugs that histories must find with or without interests.
extension Mutation {
    static let general: [Mutation] = [
        Mutation(
            name: "a missing fence: a reaped incarnation can still write",
            mistake: ("fenced-may-write", "return false"), faults: [0, 6],
            shows: .truth,
            history: SimulatedHistory(
                seed: 2, people: 5, shards: 2, times: .defaults,
                steps: [
                    .holdCommands(shard: 1, ms: 5502),
                    .connect(person: 1, place: 2, shard: 1, activity: 0, status: 0),
                    .wait(4420),
                    .wait(902),
                    .kill(shard: 1),
                    .connect(person: 1, place: 0, shard: 2, activity: 0, status: 0),
                    .quiet,
                ])),
        Mutation(
            name: "a version is not raised above the floor",
            mistake: ("floor", "return math.max(tonumber(last or '0'), now - 1) + 1"), faults: [10],
            shows: .growth,
            history: SimulatedHistory(
                seed: 5, people: 4, shards: 3, times: .defaults,
                steps: [
                    .connect(person: 2, place: 2, shard: 1, activity: 0, status: 0),
                    .connect(person: 0, place: 0, shard: 0, activity: 2, status: 0),
                    .wait(10),
                    .restart(after: 5749, data: 1, clock: -35320),
                    .wait(2_000),
                ])),
        Mutation(
            name: "a stale timer: the end of an earlier status ends the next",
            mistake: (
                "never-cleared",
                "if clearAfter ~= '' then setUserField(user, 'clearAt', int(now + tonumber(clearAfter))) end"
            ), faults: [],
            shows: .lost,
            history: SimulatedHistory(
                seed: 8, people: 3, shards: 4, times: .short,
                steps: [
                    .connect(person: 1, place: 1, shard: 0, activity: 2, status: 0),
                    .status(person: 1, place: 1, status: 0, text: 98, clearAfter: 4540),
                    .wait(11),
                    .status(person: 1, place: 1, status: 2, text: 19, clearAfter: 0),
                    .quiet,
                ])),
        Mutation(
            name: "a lost resubscription: only the canary's channel is subscribed again",
            misbehaviour: [.losesResubscription],
            shows: .view,
            history: SimulatedHistory(
                seed: 1, people: 4, shards: 2, times: .short,
                steps: [
                    .connect(person: 3, place: 1, shard: 3, activity: 2, status: 0),
                    .restart(after: 1062, data: 0, clock: 0),
                    .wait(1241),
                    .quiet,
                ])),
        Mutation(
            name: "no linger at a move: a lost connection looks like a clean close",
            misbehaviour: [.takesLossForGoodbye],
            shows: .flicker,
            history: SimulatedHistory(
                seed: 6, people: 2, shards: 2, times: .short,
                steps: [
                    .wait(528),
                    .connect(person: 1, place: 1, shard: 1, activity: 2, status: 0),
                    .wait(228),
                    .lose(person: 1, place: 1),
                ])),
        Mutation(
            name: "an invisible change is announced",
            mistake: ("announced-again", ""),
            shows: .announcedOnce,
            history: SimulatedHistory(
                seed: 2, people: 5, shards: 2, times: .defaults,
                steps: [
                    .connect(person: 1, place: 1, shard: 0, activity: 0, status: 0),
                    .connect(person: 1, place: 0, shard: 2, activity: 0, status: 0),
                    .quiet,
                ])),
        Mutation(
            name: "a late sweep reaps incarnations that could not renew",
            mistake: ("late-sweep", "local isLate = false; gap = 0"), faults: [9],
            shows: .flicker,
            history: SimulatedHistory(
                seed: 4, people: 3, shards: 2, times: .short,
                steps: [
                    .wait(2439),
                    .wait(4503),
                    .wait(272),
                    .connect(person: 0, place: 1, shard: 1, activity: 1, status: 0),
                    .wait(1724),
                    .silence(ms: 6942),
                    .silence(ms: 5394),
                    .wait(70),
                ])),
        Mutation(
            name: "several short silences do not extend a lease",
            mistake: ("many-gaps", "elseif false then"), isSearched: false,
            shows: .flicker,
            history: SimulatedHistory(
                seed: 1_795_705_633_935, people: 4, shards: 2, times: .defaults, connections: 2,
                steps: [
                    .wait(1446),
                    .connect(person: 0, place: 1, shard: 1, activity: 1, status: 1),
                    .wait(2304),
                    .cutCommands(shard: 1),
                    .wait(17),
                    .holdCommands(shard: 1, ms: 6125),
                    .wait(2897),
                    .silence(ms: 2618),
                    .silence(ms: 3195),
                    .wait(9),
                ])),
        Mutation(
            name: "dead incarnations keep their right to write",
            mistake: ("dead-may-write", ""), faults: [0],
            shows: .leak,
            history: SimulatedHistory(
                seed: 2, people: 5, shards: 2, times: .defaults,
                steps: [
                    .kill(shard: 0)
                ])),
        Mutation(
            name: "a device's older connection replaces its newer one",
            mistake: ("older-wins", ""), faults: [5],
            shows: .younger,
            history: SimulatedHistory(
                seed: 13, people: 2, shards: 2, times: .short,
                steps: [
                    .connect(person: 0, place: 0, shard: 0, activity: 0, status: 0),
                    .wait(1309),
                    .cutAll(shard: 0),
                    .connect(person: 0, place: 1, shard: 1, activity: 0, status: 0),
                    .quiet,
                ])),
        Mutation(
            name: "a user's last session stays in the dead incarnation's list",
            mistake: ("leaks-user", ""),
            shows: .leak,
            history: SimulatedHistory(
                seed: 3, people: 3, shards: 3, times: .short,
                steps: [
                    .connect(person: 2, place: 2, shard: 1, activity: 1, status: 3)
                ])),
        Mutation(
            name: "an error counts as success: a session's end or state is not written again",
            faults: [11], misbehaviour: [.takesRefusalForDone],
            shows: .ghost,
            history: SimulatedHistory(
                seed: 1, people: 2, shards: 2, times: .short,
                steps: [
                    .connect(person: 1, place: 1, shard: 0, activity: 0, status: 0),
                    .wait(100),
                    .refuse(script: 2, times: 1),
                    .close(person: 1, place: 1),
                    .wait(100),
                    .quiet,
                ])),
        Mutation(
            name: "a lost connection counts as success: the end of typing is not sent again",
            faults: [16], misbehaviour: [.takesLossForStopped],
            shows: .invisible,
            history: SimulatedHistory(
                seed: 1, people: 3, shards: 3, times: .defaults,
                steps: [
                    .connect(person: 0, place: 2, shard: 1, activity: 0, status: 0),
                    .connect(person: 1, place: 2, shard: 2, activity: 0, status: 0),
                    .wait(100),
                    .typing(person: 0, place: 2, on: 1),
                    .wait(500),
                    .status(person: 0, place: 2, status: 2, text: 1, clearAfter: 0),
                    .wait(5),
                    .restart(after: 20, data: 0, clock: 0),
                    .wait(3_000),
                ])),
        Mutation(
            name: "a session is opened with a revoked token",
            mistake: ("old-token", ""), faults: [13],
            shows: .banned,
            history: SimulatedHistory(
                seed: 1, people: 2, shards: 2, times: .short,
                steps: [
                    .connect(person: 1, place: 1, shard: 0, activity: 0, status: 0),
                    .wait(100),
                    .close(person: 1, place: 1),
                    .revoke(person: 1, shard: 1),
                    .wait(100),
                    .connect(person: 1, place: 1, shard: 0, activity: 0, status: 0),
                    .quiet,
                ])),
        Mutation(
            name: "a write does not check the revocation of its token",
            mistake: ("refused-writes", ""), faults: [13],
            shows: .banned,
            history: SimulatedHistory(
                seed: 1, people: 2, shards: 2, times: .short,
                steps: [
                    .connect(person: 1, place: 1, shard: 0, activity: 0, status: 0),
                    .wait(100),
                    .holdEvents(shard: 0, ms: 1_000),
                    .revoke(person: 1, shard: 1),
                    .wait(100),
                    .name(person: 1, place: 1, name: 7),
                    .wait(100),
                    .quiet,
                ])),
        Mutation(
            name: "sessions end although no client could return while there was no server",
            mistake: ("unsettled-reaps", "if over then"), faults: [14],
            shows: .flicker,
            history: SimulatedHistory(
                seed: 1, people: 4, shards: 3, times: .short,
                steps: [
                    .connect(person: 3, place: 1, shard: 1, activity: 1, status: 0),
                    .wait(2280),
                    .holdLease(shard: 1, ms: 9000),
                    .wait(2000),
                    .blackout(ms: 0),
                    .wait(3000),
                ])),
        Mutation(
            name: "a renewal counts from its arrival, though its server has died since",
            mistake: ("late-renewal", "local renewed = now"),
            faults: [7, 14],
            shows: .flicker,
            history: SimulatedHistory(
                seed: 1, people: 4, shards: 3, times: .short,
                steps: [
                    .connect(person: 3, place: 1, shard: 1, activity: 1, status: 0),
                    .wait(1730),
                    .holdLease(shard: 1, ms: 9000),
                    .holdLease(shard: 2, ms: 2670),
                    .wait(2000),
                    .blackout(ms: 0),
                    .wait(3000),
                ])),
        Mutation(
            name: "an earlier incarnation can write until it is reaped, and takes a session from the later one",
            mistake: ("former-may-write", "for former in each() do end"), isSearched: false,
            shows: .flicker,
            history: SimulatedHistory(
                seed: 23, people: 2, shards: 2, times: .short,
                steps: [
                    .connect(person: 0, place: 0, shard: 0, activity: 1, status: 0),
                    .wait(1181),
                    .holdCommands(shard: 0, ms: 2240),
                    .wait(87),
                    .connect(person: 0, place: 2, shard: 0, activity: 1, status: 0),
                    .lose(person: 0, place: 0),
                    .wait(3491),
                ])),
    ]
}
