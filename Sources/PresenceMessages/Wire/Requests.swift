import Foundation
import PresenceKit

/// The requests and their members.
enum Ask {
    struct Send: Codable {
        struct Content: Codable {
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

    struct Follow: Encodable {
        var conversations: [Cursor]
    }

    struct List: Encodable {
        var conversationList = true
        var known: [String: Int64]
    }

    struct Page: Encodable {
        var conversation: String
        var before: Int64?
        var limit: Int
    }

    struct Edit: Encodable {
        var conversation: String
        var message: String
        var text: String
    }

    struct Delete: Encodable {
        var conversation: String
        var message: String
    }

    struct Mark: Codable, Sendable {
        var conversation: String
        var delivered: Int64?
        var read: Int64?
    }

    struct One: Encodable {
        var conversation: String
    }

    struct Create: Encodable {
        var participants: [String]
        var name: String?
        var key: String
        var metadata: [String: JSONValue]?
    }

    struct Settings: Encodable {
        var conversation: String
        var muted: Bool?
        var muteFor: Int64?
        var archived: Bool?
    }

    struct Rename: Encodable {
        var conversation: String
        var name: String
    }

    struct Members: Encodable {
        var conversation: String
        var add: [String]
        var remove: [String]
    }
}
