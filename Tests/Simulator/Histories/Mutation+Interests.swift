/// The deliberate bugs that histories must find when changes are published only to watching shards.
extension Mutation {
    static let all = general + ofInterests

    static let ofInterests: [Mutation] = [
        Mutation(
            name: "a read before the channel is confirmed: changes in between are missed",
            faults: [], misbehaviour: [.readsTooEarly],
            shows: .view,
            history: SimulatedHistory(
                seed: 38, people: 5, shards: 2, times: .defaults, interests: true,
                steps: [
                    .connect(person: 0, place: 2, shard: 0, activity: 0, status: 0),
                    .wait(2),
                    .connect(person: 1, place: 2, shard: 1, activity: 0, status: 0),
                    .wait(1),
                    .connect(person: 2, place: 2, shard: 1, activity: 0, status: 0),
                    .wait(1),
                    .connect(person: 3, place: 2, shard: 1, activity: 0, status: 0),
                    .wait(1),
                    .connect(person: 4, place: 2, shard: 1, activity: 0, status: 0),
                    .quiet,
                ])),
        Mutation(
            name: "an interest is dropped too early: a channel is left although it is watched",
            faults: [], misbehaviour: [.leavesTooEarly],
            shows: .view,
            history: SimulatedHistory(
                seed: 1, people: 2, shards: 2, times: .defaults, interests: true,
                steps: [
                    .connect(person: 0, place: 2, shard: 0, activity: 0, status: 0),
                    .connect(person: 1, place: 2, shard: 1, activity: 0, status: 0),
                    .wait(3_000),
                    .status(person: 1, place: 2, status: 2, text: 1, clearAfter: 0),
                    .quiet,
                ])),
        Mutation(
            name: "interests are lost with a connection: only the partitions' channels are subscribed again",
            faults: [4], misbehaviour: [.losesInterests],
            shows: .view,
            history: SimulatedHistory(
                seed: 1, people: 2, shards: 2, times: .defaults, interests: true,
                steps: [
                    .connect(person: 0, place: 2, shard: 0, activity: 0, status: 0),
                    .connect(person: 1, place: 2, shard: 1, activity: 0, status: 0),
                    .wait(1_000),
                    .cutSubscription(shard: 0),
                    .wait(2_000),
                    .status(person: 1, place: 2, status: 2, text: 1, clearAfter: 0),
                    .quiet,
                ])),
    ]
}
