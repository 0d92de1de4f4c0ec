import Foundation

extension Me {
    /// A user who asks the signed-in user to be a contact.
    public struct ContactRequest: Codable, Hashable, Sendable, Identifiable {
        /// The user who asks.
        public var user: String
        /// Their display name at that time, also if their profile is hidden.
        public var displayName: String?
        /// Their words, at most 140 characters.
        public var text: String?
        /// When they asked.
        public var askedAt: Date

        /// The same as ``user``: each user has one request at most.
        public var id: String { user }

        /// Creates a value, for fakes and previews.
        public init(user: String, displayName: String? = nil, text: String? = nil, askedAt: Date = Date()) {
            (self.user, self.displayName, self.text, self.askedAt) = (user, displayName, text, askedAt)
        }
    }
}
