import Foundation

/// Something that the app's backend told the user, and what the user has done with it.
public struct UserNotification: Codable, Hashable, Sendable, Identifiable {
    /// The backend's own.
    public let id: String
    /// Its number among the user's; a later one has a larger one.
    public let sequence: Int64
    /// What it is about, in the backend's words, such as `order`.
    public let kind: String
    /// A line for people; may be empty.
    public let title: String
    /// More text for people.
    public let body: String?
    /// What the backend noted for the app.
    public let data: JSONValue?
    /// When the server took it, by its clock.
    public let timestamp: Date
    /// Whether it was on a screen of the user.
    public var isSeen: Bool
    /// Whether the user opened it.
    public var isRead: Bool

    /// Makes a notification, as a fake or a preview needs it.
    public init(
        id: String, sequence: Int64, kind: String, title: String, body: String? = nil, data: JSONValue? = nil,
        timestamp: Date = Date(), isSeen: Bool = false, isRead: Bool = false
    ) {
        self.id = id
        self.sequence = sequence
        self.kind = kind
        self.title = title
        self.body = body
        self.data = data
        self.timestamp = timestamp
        self.isSeen = isSeen
        self.isRead = isRead
    }
}
