import PresenceCore
import PresenceProtocol

extension NotificationInboxes {
    /// A connection that watches.
    final class Subscriber {
        let connection: Connection
        let user: UserID
        /// Its list has been answered: before that it is told nothing.
        var isReady = false
        /// As of what it was told, `frames` included.
        var told = Place()
        /// As of what was written to it.
        var written = Place()
        var frames: [[UInt8]] = []
        /// Of the frames, which count as what waits for the connection.
        var bytes = 0 { didSet { outboxes.change(by: bytes - oldValue) } }
        private let outboxes: Outboxes
        /// The newest version that is known of.
        var wanted: Int64 = 0
        /// Something may have been missed.
        var isInDoubt = false
        var isReading = false

        var isBehind: Bool { isInDoubt || wanted > told.version }

        init(_ connection: Connection, _ user: UserID, _ outboxes: Outboxes) {
            self.connection = connection
            self.user = user
            self.outboxes = outboxes
        }

        deinit { outboxes.change(by: -bytes) }

        /// Keeps nothing but where it stands.
        func fallBehind(_ version: Int64) {
            (frames, bytes, told) = ([], 0, written)
            wanted = max(wanted, version)
        }
    }

    struct Place {
        var version: Int64 = 0
        var seq: Int64 = 0
    }
}
