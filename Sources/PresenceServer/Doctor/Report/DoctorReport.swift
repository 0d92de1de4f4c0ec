import PresenceCore
import PresenceProtocol

/// What the doctor found.
public struct DoctorReport: Sendable {
    /// Where it looked; without a password.
    public let redis: String
    public let redisTime: Timestamp
    public let partitions: Int
    public let leases: [Lease]
    /// How long ago a server last looked for leases that ran out, in ms.
    public let swept: Milliseconds?
    public let counts: Counts
    /// What is wrong (after repairing: still wrong).
    public let findings: [DoctorFinding]
    /// What was wrong and was cleared, as it was found before.
    public let repaired: [DoctorFinding]
    /// `false` if there was more than is kept: then the next run finds the rest.
    public let isWhole: Bool

    /// How many subjects of a kind are named.
    public static let examples = 10

    public var isHealthy: Bool { findings.isEmpty }

    public struct Lease: Sendable, Equatable {
        public let incarnation: String
        public let state: State
        /// In ms; negative if it lies ahead. `nil` where it cannot be read.
        public let renewedAgo: Milliseconds?
        /// In ms from now; of one that is being reaped, until another reaper may take over.
        public let endsIn: Milliseconds?
        public let sessions: Int

        public enum State: String, Sendable {
            case live, ranOut, reaping, malformed
        }
    }

    /// How much there is: counted while it changed, and so about right.
    public struct Counts: Sendable {
        public var keys = 0
        public var users = 0
        public var sessions = 0
        public var conversations = 0
        /// Keys of others in the same database, or of another version: left alone.
        public var unknownKeys = 0
        var sessionsOf: [String: Int] = [:]
        /// Users whose sessions are still to be counted in this step.
        var sessionHolders: Set<UserID> = []
    }
}
