import Foundation

/// A notification from the app's backend, with the user's marks.
public struct UserNotification: Codable, Hashable, Sendable, Identifiable {
    /// The backend's id.
    public let id: String
    /// The number among the user's notifications; later ones have larger numbers.
    public let sequence: Int64
    /// The subject as named by the backend, such as `order`.
    public let kind: String
    /// A line for users; may be empty.
    public let title: String
    /// A longer text for users.
    public let body: String?
    /// Data from the backend for the app.
    public let data: JSONValue?
    /// When the server accepted it, by its clock.
    public let timestamp: Date
    /// Whether the user has seen it.
    public var isSeen: Bool
    /// Whether the user has opened it.
    public var isRead: Bool

    /// Creates a notification, for fakes and previews.
    public init(
        id: String, sequence: Int64, kind: String, title: String, body: String? = nil, data: JSONValue? = nil,
        timestamp: Date = Date(), isSeen: Bool = false, isRead: Bool = false
    ) {
        (self.id, self.sequence, self.kind) = (id, sequence, kind)
        (self.title, self.body, self.data) = (title, body, data)
        (self.timestamp, self.isSeen, self.isRead) = (timestamp, isSeen, isRead)
    }
}
