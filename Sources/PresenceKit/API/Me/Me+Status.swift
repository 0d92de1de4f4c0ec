import Foundation

extension Me {
    /// The status that the user chose for all their devices, as stored by the server.
    public struct Status: Codable, Hashable, Sendable {
        /// The chosen status. Others see the status that results from it and from the devices' activity.
        public var status: ChosenStatus
        /// The status text, or `nil`.
        public var text: String?
        /// When the status returns to `auto` and its text is removed, by the server's clock.
        public var clearsAt: Date?
        /// Whether the value is current.
        public var freshness: Freshness
        /// Why the value is no longer updated: the client is closed, as in ``PersonPresence/problem``. With
        /// ``Freshness/unknown`` the status was never known.
        public var problem: PresenceError?

        /// Creates a status, for fakes and previews.
        public init(
            status: ChosenStatus, text: String? = nil, clearsAt: Date? = nil, freshness: Freshness,
            problem: PresenceError? = nil
        ) {
            (self.status, self.text, self.clearsAt) = (status, text, clearsAt)
            (self.freshness, self.problem) = (freshness, problem)
        }
    }
}
