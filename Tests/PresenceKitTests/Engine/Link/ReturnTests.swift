import Expectations
import PresenceProtocol
import Testing

@testable import PresenceKit

/// When the clients of one server reconnect, simulated for thousands of them: early enough that other users do not see
/// them go offline, and not all at once.
@Suite struct ReturnTests {
    private static let clients = 5_000

    /// The times of all attempts of each client, the last of which succeeds; the server is down for `outage`.
    private static func attempts(outage: Duration, linger: Duration = .seconds(10), seed: UInt64 = 1) -> [[Duration]] {
        var random = Draws(state: seed)
        return (0..<clients).map { _ in
            var reconnection = Reconnection(base: .milliseconds(500), cap: .seconds(30))
            reconnection.connected(at: .zero, linger: linger)
            var attempts: [Duration] = []
            // The connection had lasted when it was lost.
            let loss = Duration.seconds(60)
            var now = loss
            repeat {
                let verdict = reconnection.verdict(
                    on: .lost("refused"), at: now, freshToken: false, random: random.next())
                guard case .again(let wait) = verdict else { return attempts }
                now += wait
                attempts.append(now - loss)
            } while now - loss < outage
            return attempts
        }
    }

    /// The largest share of the clients that connects within any tenth of a second.
    private static func peak(_ times: some Sequence<Duration>) -> Double {
        var counts: [Int64: Int] = [:]
        for time in times { counts[time.milliseconds / 100, default: 0] += 1 }
        return Double(counts.values.max() ?? 0) / Double(clients)
    }

    private static func share(of attempts: [[Duration]], back limit: Duration) -> Double {
        Double(attempts.count { $0.last! <= limit }) / Double(clients)
    }

    /// The maximum duration of an attempt that must be in time.
    private static let connecting = Duration.milliseconds(300)

    @Test(arguments: [0.5, 2, 5, 8])
    func `clients of a server that is back within linger are back within it too`(outage: Double) {
        let attempts = Self.attempts(outage: .seconds(outage))
        expect(Self.share(of: attempts, back: .seconds(10) - Self.connecting), equals: 1)
    }

    @Test(arguments: [0.5, 2, 5, 8])
    func `they do not reconnect all at once`(outage: Double) {
        let attempts = Self.attempts(outage: .seconds(outage))
        expect(Self.peak(attempts.map { $0.last! }) < (outage < 1 ? 0.16 : 0.12))
    }

    @Test func `after a loss of the connection alone they reconnect within half a second, evenly`() {
        let attempts = Self.attempts(outage: .zero)
        expect(attempts.allSatisfy { $0.count == 1 && $0[0] <= .milliseconds(500) })
        expect(Self.peak(attempts.map { $0[0] }) < 0.25)
    }

    @Test func `while the server is down, no tenth of a second has more attempts than the first ones`() {
        let attempts = Self.attempts(outage: .seconds(120)).flatMap(\.self)
        expect(Self.peak(attempts) < 0.36)
        expect(Self.peak(attempts.filter { $0 > .seconds(1) }) < 0.25)
        // After linger the attempts become rarer.
        let share = Double(attempts.count { $0 > .seconds(60) }) / Double(Self.clients)
        expect(share < 7, "some fifteen seconds apart")
    }

    @Test func `within linger each client makes about nine attempts`() {
        let attempts = Self.attempts(outage: .seconds(120)).map { $0.count { $0 < .seconds(10) } }
        let mean = Double(attempts.reduce(0, +)) / Double(Self.clients)
        expect((8...12).contains(mean))
        expect(attempts.max()! <= 40)
    }

    @Test(arguments: [1, 3, 60]) func `the same holds for other lingers`(linger: Int) {
        let attempts = Self.attempts(outage: .seconds(linger) * 0.8, linger: .seconds(linger))
        expect(Self.share(of: attempts, back: .seconds(linger)) >= 0.99)
    }

    /// Uniform random numbers in 0..<1, the same in every run.
    private struct Draws {
        var state: UInt64

        mutating func next() -> Double {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return Double((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53
        }
    }
}
