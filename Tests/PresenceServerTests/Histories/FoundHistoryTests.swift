import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Histories that once failed, shrunk to a minimum of steps.
@Suite struct FoundHistoryTests {
    /// A bug and the history that revealed it.
    struct Found: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let history: SimulatedHistory
    }

    @Test(arguments: found)
    func `a history that once failed does not fail`(found: Found) throws {
        let wrong = try Seeds().violation(of: found.history, SimulatedRedis())
        expect(wrong == nil, "\(wrong!)")
    }

    static let found = [
        Found(
            testDescription: "a timed status ends while its user is away, and is over when they return",
            history: SimulatedHistory(
                seed: 1384, people: 2, shards: 2, times: .short,
                steps: [
                    .connect(person: 0, place: 2, shard: 0, activity: 1, status: 0), .wait(500),
                    .status(person: 0, place: 2, status: 2, text: 35, clearAfter: 5079), .wait(500),
                    .close(person: 0, place: 2), .quiet,
                    .connect(person: 0, place: 2, shard: 1, activity: 0, status: 0), .quiet,
                ])),
        Found(
            testDescription: "a slow subscription that was renewed is not abandoned again at once",
            history: SimulatedHistory(
                seed: 7, people: 5, shards: 2,
                steps: [
                    .connect(person: 3, place: 2, shard: 1, activity: 2, status: 0),
                    .holdEvents(shard: 1, ms: 2448),
                    .wait(2999),
                    .connect(person: 4, place: 1, shard: 1, activity: 0, status: 0),
                    .wait(19),
                ])),
        Found(
            testDescription: "a subscription that falls silent together with Redis is detected",
            history: SimulatedHistory(
                seed: 20, people: 3, shards: 4, times: .defaults,
                steps: [.deafen(shard: 0), .silence(ms: 4513), .quiet])),
        Found(
            testDescription: "no client is told `stale` before `connected`",
            history: SimulatedHistory(
                seed: 10, people: 3, shards: 2,
                steps: [
                    .connect(person: 0, place: 2, shard: 2, activity: 0, status: 0), .silence(ms: 4115), .quiet,
                ])),
        Found(
            testDescription:
                "after Redis' clock was set back, a device's new connection is not replaced by its old one",
            history: SimulatedHistory(
                seed: 9, people: 5, shards: 4,
                steps: [
                    .connect(person: 3, place: 2, shard: 2, activity: 2, status: 0),
                    .connect(person: 0, place: 1, shard: 2, activity: 1, status: 0),
                    .wait(4), .remember, .roll(shard: 2), .restart(after: 1411, data: 2, clock: -791178), .wait(154),
                ])),
        Found(
            testDescription: "a connection that reaches Redis late does not count as newer than the next one",
            history: SimulatedHistory(
                seed: 143,
                shards: 2,
                steps: [
                    .holdCommands(shard: 1, ms: 5578),
                    .connect(person: 0, place: 0, shard: 1, activity: 2, status: 0),
                    .move(person: 0, place: 0, shard: 3, after: 2284),
                    .quiet,
                ])),
        Found(
            testDescription: "activity just before the server becomes live again is shown",
            history: SimulatedHistory(
                seed: 218, shards: 4,
                steps: [
                    .wait(154), .connect(person: 3, place: 2, shard: 0, activity: 2, status: 0), .wait(584), .remember,
                    .wait(5022), .wait(334), .cutAll(shard: 3), .wait(2773), .restart(after: 756, data: 2, clock: 0),
                    .wait(116), .quiet,
                ])),
        Found(
            testDescription: "a reaped incarnation does not join by a delayed command",
            history: SimulatedHistory(
                seed: 55, people: 5, shards: 4,
                steps: [
                    .silence(ms: 4552), .wait(2851), .wait(996), .silence(ms: 4506), .wait(16),
                    .holdCommands(shard: 2, ms: 7616), .wait(3),
                ])),
        Found(
            testDescription: "a status in a connect reaches the user's other sessions on that server",
            history: SimulatedHistory(
                seed: 291, people: 3,
                steps: [
                    .connect(person: 0, place: 1, shard: 3, activity: 0, status: 2),
                    .connect(person: 0, place: 2, shard: 2, activity: 2, status: 0),
                    .roll(shard: 2),
                    .wait(213),
                    .holdEvents(shard: 0, ms: 5870),
                    .connect(person: 0, place: 0, shard: 0, activity: 0, status: 3),
                    .wait(1),
                    .quiet,
                ])),
        Found(
            testDescription: "an event just before a read of Redis does not count as newer than the reply",
            history: SimulatedHistory(
                seed: 25, people: 5, shards: 4, times: .short,
                steps: [
                    .connect(person: 2, place: 1, shard: 0, activity: 1, status: 0),
                    .connect(person: 3, place: 1, shard: 3, activity: 2, status: 3),
                    .wait(9),
                    .readSlowly(person: 3, place: 1),
                    .restart(after: 1614, data: 0, clock: 4130),
                    .stop(shard: 0),
                    .wait(8514),
                    .restart(after: 3292, data: 2, clock: -1391),
                    .quiet,
                ])),
        Found(
            testDescription: "a repeated read is not followed by the same pending register",
            history: SimulatedHistory(
                seed: 80, people: 3, shards: 2,
                steps: [
                    .connect(person: 0, place: 2, shard: 1, activity: 0, status: 0),
                    .wait(3973),
                    .connect(person: 0, place: 1, shard: 3, activity: 2, status: 0),
                    .wait(4),
                    .watch(person: 0, place: 1, whom: 0),
                ])),
        Found(
            testDescription: "when all servers have died again, the last ones do not count as running",
            history: SimulatedHistory(
                seed: 20_261_541, people: 3, shards: 4, times: .defaults,
                steps: [
                    .rush(person: 2, place: 0, shard: 3, what: 2), .wait(2579), .blackout(ms: 1195), .wait(6772),
                    .blackout(ms: 1016),
                ])),
        Found(
            testDescription: "a renewal that arrives after its server died does not count",
            history: SimulatedHistory(
                seed: 900_000_987, people: 4, shards: 3, times: .short,
                steps: [
                    .connect(person: 3, place: 1, shard: 1, activity: 1, status: 0), .wait(1806),
                    .holdLease(shard: 2, ms: 5732), .wait(550), .blackout(ms: 5741),
                ])),
        Found(
            testDescription: "a user connected without their status receives it, even if an earlier answer had it",
            history: SimulatedHistory(
                seed: 20_261_715, people: 4, shards: 3, times: .short, connections: 2,
                steps: [
                    .connect(person: 1, place: 0, shard: 3, activity: 0, status: 0), .cutLease(shard: 0),
                    .connect(person: 1, place: 2, shard: 3, activity: 0, status: 0), .quiet,
                ])),
        Found(
            testDescription: "of two connections of a device in the same ms the later one stays",
            history: SimulatedHistory(
                seed: 20_261_949, people: 2, shards: 2, times: .short, connections: 2,
                steps: [
                    .stop(shard: 1), .connect(person: 1, place: 0, shard: 3, activity: 1, status: 0), .wait(350),
                    .wait(529), .move(person: 1, place: 0, shard: 3, after: 189), .deafen(shard: 1), .wait(341), .quiet,
                ])),
        Found(
            testDescription: "a server whose subscription breaks during a new incarnation's start repeats the start",
            history: SimulatedHistory(
                seed: 910_001_742, people: 2, shards: 2, times: .short,
                steps: [.roll(shard: 0), .wait(200), .wait(14), .cutSubscription(shard: 0), .quiet])),
        Found(
            testDescription: "a user who becomes idle and at once active is active",
            history: SimulatedHistory(
                seed: 920_001_503, people: 4, shards: 4, times: .short,
                steps: [
                    .connect(person: 2, place: 1, shard: 2, activity: 0, status: 0),
                    .activity(person: 2, place: 1, state: 2), .quiet,
                ])),
        Found(
            testDescription: "a status that Redis has lost is restored by a session opened in its absence",
            history: SimulatedHistory(
                seed: 396, people: 4, shards: 2, times: .short, connections: 1, interests: true,
                steps: [
                    .connect(person: 0, place: 2, shard: 1, activity: 0, status: 0),
                    .connect(person: 0, place: 1, shard: 3, activity: 1, status: 0),
                    .status(person: 0, place: 2, status: 1, text: 1, clearAfter: 0), .wait(11), .kill(shard: 0),
                    .restart(after: 3404, data: 1, clock: 0), .close(person: 0, place: 2), .quiet,
                ])),
        Found(
            testDescription: "a lease counts from when its renewal was sent, also in the histories' model",
            history: SimulatedHistory(
                seed: 508, people: 5, shards: 3, times: .defaults, connections: 1, interests: true,
                steps: [
                    .silence(ms: 3004), .wait(433), .connect(person: 4, place: 2, shard: 2, activity: 0, status: 0),
                    .wait(309), .stop(shard: 2), .wait(6262), .wait(524), .silence(ms: 2536), .quiet,
                ])),
        Found(
            testDescription: "an administrator's disconnect holds if Redis' clock is set back at the same moment",
            history: SimulatedHistory(
                seed: 1_795_347_978_986, people: 5, shards: 2, times: .defaults,
                steps: [
                    .connect(person: 4, place: 2, shard: 0, activity: 1, status: 0), .wait(1),
                    .disconnect(person: 4, shard: 1), .jump(clock: -2_382_267), .quiet,
                ])),
        Found(
            testDescription: "a session that an earlier incarnation is about to open remains the later one's",
            history: SimulatedHistory(
                seed: 1_795_673_733_222, people: 3, shards: 2, times: .short, connections: 0, interests: true,
                steps: [
                    .connect(person: 1, place: 0, shard: 1, activity: 2, status: 0),
                    .wait(2465),
                    .connect(person: 2, place: 0, shard: 0, activity: 1, status: 0),
                    .wait(77),
                    .connect(person: 2, place: 1, shard: 2, activity: 1, status: 0),
                    .connect(person: 1, place: 1, shard: 2, activity: 2, status: 0),
                    .rush(person: 0, place: 0, shard: 2, what: 2),
                    .wait(741),
                    .wait(73),
                    .quiet,
                    .connect(person: 1, place: 2, shard: 2, activity: 0, status: 0),
                    .connect(person: 2, place: 0, shard: 2, activity: 2, status: 0),
                    .typing(person: 1, place: 1, on: 1),
                    .wait(1436),
                    .typing(person: 1, place: 2, on: 1),
                    .wait(150),
                    .status(person: 1, place: 2, status: 2, text: 33, clearAfter: 0),
                    .wait(5),
                    .restart(after: 26, data: 0, clock: 0),
                    .wait(398),
                    .wait(1072),
                    .wait(193),
                    .wait(332),
                    .holdCommands(shard: 0, ms: 4658),
                    .wait(2543),
                    .rush(person: 0, place: 2, shard: 2, what: 1),
                    .lose(person: 0, place: 0),
                    .holdLease(shard: 1, ms: 4497),
                    .wait(3971),
                ])),
        Found(
            testDescription: "Redis is silent twice while a shard waits to return: no server could renew",
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
    ]
}
