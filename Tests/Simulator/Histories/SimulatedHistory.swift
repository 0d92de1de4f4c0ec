import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer

/// The events of some servers and people: drawn from a seed, or stored because they once failed.
struct SimulatedHistory: Sendable {
    /// Also determines all delays.
    var seed: UInt64
    var people = 4
    var shards = 3
    var times = Times.short
    /// How many connections a user may have; 0: any number.
    var connections = 0
    /// Whether changes are published only to shards where they are watched.
    var interests = false
    var steps: [Step]

    /// The configuration's durations.
    enum Times: Equatable, Sendable {
        /// The product's own defaults.
        case defaults
        /// Shorter ones in other proportions, so that more happens in less time.
        case short
    }

    /// Places from which one person connects: two share a device id, one has none.
    static let places = 3

    static func device(_ place: Int) -> (id: String?, kind: DeviceKind) {
        switch place % places {
        case 0: ("phone", .phone)
        case 1: ("phone", .tablet)
        default: (nil, .web)
        }
    }

    func configure(_ configuration: inout ServerConfiguration) {
        configuration.partitions = 2
        configuration.redis.interests = interests
        if connections > 0 { configuration.limits.connectionsPerUser = connections }
        guard times == .short else { return }
        configuration.heartbeat.interval = 4_000
        configuration.heartbeat.timeout = 3_000
        configuration.linger = 3_000
        configuration.lease.duration = 4_000
        configuration.lease.renewal = 800
        configuration.lease.sweep = 500
        configuration.staleAfter = 1_200
        configuration.commandTimeout = 2_000
        configuration[Typing.expiry] = 2_000
        configuration.slowConsumer.timeout = 6_000
        configuration.connectTimeout = 5_000
    }

    /// As Swift source.
    var source: String {
        """
        SimulatedHistory(
            seed: \(seed), people: \(people), shards: \(shards), times: .\(times), connections: \(connections),
            interests: \(interests),
            steps: [
        \(steps.map { "        \($0.source)," }.joined(separator: "\n"))
            ])
        """
    }
}
