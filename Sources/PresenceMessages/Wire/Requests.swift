import Foundation
import PresenceKit

/// The members of requests. Each type of request has some of them; the others are not sent.
struct Ask: Encodable {
    var conversation: String?
    var conversations: [Cursor]?
    var conversationList: Bool?
    var known: [String: Int64]?
    var notifications: Bool?
    /// A message's id.
    var message: String?
    var text: String?
    var before: Int64?
    var limit: Int?
    var participants: [String]?
    var name: String?
    var key: String?
    var metadata: [String: JSONValue]?
    var add: [String]?
    var remove: [String]?
    var muted: Bool?
    var muteFor: Int64?
    var archived: Bool?

    /// The request `send`.
    struct Send: Encodable {
        struct Content: Encodable {
            var id: String
            var text: String
            var attachments: [Wire.Attachment]?
            var priority: Wire.Priority?
        }
        var conversation: String
        var message: Content
        var after: Int64?
    }

    struct Cursor: Encodable {
        var id: String
        var after: Int64?
        var messagesVersion: Int64?
    }

    /// The request `mark`, also as it is stored.
    struct Mark: Codable, Sendable {
        var conversation: String
        var delivered: Int64?
        var read: Int64?
    }
}
