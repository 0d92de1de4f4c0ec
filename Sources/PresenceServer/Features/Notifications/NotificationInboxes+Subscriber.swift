import PresenceCore
import PresenceProtocol

extension NotificationInboxes {
    /// A connection that watches.
    final class Subscriber: OwnSubscriber {
        let connection: Connection
        let user: UserID
        var isReady = false
        /// Its place once `frames` are written.
        var announced = Place()
        /// Its place without `frames`.
        var written = Place()
        var frames: [[UInt8]] = []
        /// The bytes of the frames, which count as output that waits for the connection.
        var bytes = 0 { didSet { outboxes.change(by: bytes - oldValue) } }
        private let outboxes: Outboxes
        /// The newest known version.
        var wanted: Int64 = 0
        /// Something may have been missed.
        var isInDoubt = false
        var isReading = false

        var isBehind: Bool { isInDoubt || wanted > announced.version }

        init(_ connection: Connection, _ user: UserID, _ outboxes: Outboxes) {
            self.connection = connection
            self.user = user
            self.outboxes = outboxes
        }

        deinit { outboxes.change(by: -bytes) }

        /// Drops everything but its place.
        func fallBehind(_ version: Int64) {
            (frames, bytes, announced) = ([], 0, written)
            wanted = max(wanted, version)
        }
    }

    struct Place {
        var version: Int64 = 0
        var seq: Int64 = 0
    }
}
