import PresenceCore
import PresenceProtocol

/// The result of a check.
public struct DoctorReport: Sendable {
    /// The Redis that was checked, without its password.
    public let redis: String
    public let redisTime: Timestamp
    public let partitions: Int
    public let leases: [Lease]
    /// How long ago a server last looked for expired leases, in ms.
    public let swept: Milliseconds?
    public let counts: Counts
    /// The errors; after a repair, the remaining ones.
    public let findings: [DoctorFinding]
    /// The repaired errors, as found before the repair.
    public let repaired: [DoctorFinding]
    /// `false` if there are more errors than one run keeps; the next run finds the rest.
    public let isWhole: Bool

    /// How many subjects are named for each kind.
    public static let examples = 10

    public var isHealthy: Bool { findings.isEmpty }

    public struct Lease: Sendable, Equatable {
        public let incarnation: String
        public let state: State
        /// In ms; negative if the renewal lies in the future; `nil` if the lease cannot be read.
        public let renewedAgo: Milliseconds?
        /// In ms from now. For a lease that is being reaped: until another reaper may take over.
        public let endsIn: Milliseconds?
        public let sessions: Int

        public enum State: String, Sendable {
            case live, ranOut, reaping, malformed
        }
    }

    /// Approximate totals, because the data changes during the count.
    public struct Counts: Sendable {
        public var keys = 0
        public var users = 0
        public var sessions = 0
        public var conversations = 0
        /// Keys of other programs in the same database, or of another version; they are not touched.
        public var unknownKeys = 0
        var sessionsOf: [String: Int] = [:]
        /// Users whose sessions must still be counted in this step.
        var sessionHolders: Set<UserID> = []
    }
}
