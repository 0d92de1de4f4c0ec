import PresenceProtocol

/// The arguments of each request about messages, decoded and checked. `Messages` answers the requests.
enum MessageRequest {
    struct New {
        let id: String
        /// JSON; `attachments` and `priority` are empty if there are none.
        let text: [UInt8]
        let attachments: [UInt8]
        let priority: [UInt8]
        /// The stored bytes, without its head.
        var bytes: Int { text.count + attachments.count + priority.count }
    }

    struct Send {
        let conversation: ConversationID
        let message: New
    }

    struct Edit {
        let conversation: ConversationID
        let message: String
        let text: [UInt8]
    }

    struct Page {
        let conversation: ConversationID
        /// 0: from the end.
        let before: Int64
        let limit: Int64
    }

    static let mostCharacters = 5_000
    static let mostBytes = 20 * 1_024
    static let mostAttachments = 10
    static let mostInPage: Int64 = 100
    static let standardPage: Int64 = 50

    static func send(_ members: ClientMembers) throws(DecodingFailure) -> Send {
        // The client's position in the conversation is only checked for its form: the store recognises a message by its
        // id alone.
        _ = try members["after"]?.checkedCount("after")
        let message = try members.needed(members["message"], "message")
        return Send(conversation: try ConversationRequest.conversation(members), message: try new(message))
    }

    static func edit(_ members: ClientMembers) throws(DecodingFailure) -> Edit {
        let value = try members.needed(members.text, "text")
        let text = try value.checkedString("text")
        if let rule = brokenRule(by: text) { throw .invalid("text", rule) }
        return Edit(
            conversation: try ConversationRequest.conversation(members),
            message: try id(members.needed(members["message"], "message"), "message"), text: json(text))
    }

    static func message(
        _ members: ClientMembers
    ) throws(DecodingFailure) -> (conversation: ConversationID, message: String) {
        (
            try ConversationRequest.conversation(members),
            try id(members.needed(members["message"], "message"), "message")
        )
    }

    static func page(_ members: ClientMembers) throws(DecodingFailure) -> Page {
        let before = try members["before"]?.checkedInteger("before")
        let limit = try members["limit"]?.checkedInteger("limit")
        return try page(ConversationRequest.conversation(members), before: before, limit: limit)
    }

    static func page(
        _ id: ConversationID, before: Int64?, limit: Int64?
    ) throws(DecodingFailure) -> Page {
        if let before, before < 1 { throw .invalid("before", "must be at least 1") }
        if let limit, !(1...mostInPage).contains(limit) { throw .invalid("limit", "must be from 1 to \(mostInPage)") }
        return Page(conversation: id, before: before ?? 0, limit: limit ?? standardPage)
    }

    // MARK: A message

    static func new(_ value: JSONValue) throws(DecodingFailure) -> New {
        var members = try value.object("message")
        var (messageID, text): (String?, String?)
        var (attachments, priority): ([UInt8], [UInt8]) = ([], [])
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null else { return }
            if key.equals("id") {
                messageID = try id(value, "message.id")
            } else if key.equals("text") {
                text = try value.checkedString("message.text")
            } else if key.equals("attachments") {
                attachments = try Self.attachments(value)
            } else if key.equals("priority") {
                priority = try Self.priority(value)
            }
        }
        guard let messageID else { throw .missing("message.id") }
        if let rule = brokenRule(by: text ?? "") { throw .invalid("message.text", rule) }
        guard text?.isEmpty == false || !attachments.isEmpty else {
            throw .invalid("message.text", "must not be empty without attachments")
        }
        return New(id: messageID, text: json(text ?? ""), attachments: attachments, priority: priority)
    }

    private static func id(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> String {
        try value.checkedCreationKey(field).string
    }

    /// The rule that a text breaks; `nil` if none. Line breaks and tabs are allowed, other control characters are not.
    static func brokenRule(
        by text: String, characters mostCharacters: Int = MessageRequest.mostCharacters,
        bytes mostBytes: Int = MessageRequest.mostBytes
    ) -> String? {
        let bytes = text.utf8.count
        guard bytes <= mostBytes else { return "must be at most \(mostBytes) bytes long" }
        // A text never has more characters than bytes, so most need not be counted.
        guard bytes <= mostCharacters || text.count <= mostCharacters else {
            return "must be at most \(mostCharacters) characters long"
        }
        let isClean = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: true
            case 0x00...0x1F, 0x7F...0x9F: false
            default: true
            }
        }
        return isClean ? nil : "must be without control characters other than line breaks and tabs"
    }

    private static func attachments(_ value: JSONValue) throws(DecodingFailure) -> [UInt8] {
        let field = "message.attachments"
        var left = mostAttachments
        let list = try value.elements(field) { (element) throws(DecodingFailure) in
            guard left > 0 else {
                throw DecodingFailure(
                    code: .tooMany, message: "at most \(mostAttachments) attachments in one message", field: field)
            }
            left -= 1
            return try attachment(element, field)
        }
        return list.isEmpty ? [] : [0x5B] + Array(list.joined(separator: [0x2C])) + [0x5D]
    }

    private enum Kind: String, CaseIterable { case image, video, file }

    private static func attachment(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> [UInt8] {
        var members = try value.object(field)
        var (id, kind): (Identifier?, Kind?)
        var (address, thumbnail): (String?, String?)
        var size: Int64?
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null else { return }
            if key.equals("id") {
                id = try value.checkedIdentifier(field + ".id")
            } else if key.equals("kind") {
                kind = try value.checkedCase(of: Kind.self, field + ".kind")
            } else if key.equals("url") {
                address = try url(value, field + ".url")
            } else if key.equals("thumbnailURL") {
                thumbnail = try url(value, field + ".thumbnailURL")
            } else if key.equals("sizeBytes") {
                size = try value.checkedCount(field + ".sizeBytes")
            }
        }
        guard let id else { throw .missing(field + ".id") }
        guard let kind else { throw .missing(field + ".kind") }
        guard let address else { throw .missing(field + ".url") }
        guard let size else { throw .missing(field + ".sizeBytes") }
        var json = Array(#"{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        JSONWriter.member("kind", kind.rawValue, to: &json)
        JSONWriter.member("url", address, to: &json)
        if let thumbnail { JSONWriter.member("thumbnailURL", thumbnail, to: &json) }
        JSONWriter.member("sizeBytes", size, to: &json)
        return json + [0x7D]
    }

    private static func url(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> String {
        let url = try value.checkedString(field)
        guard PhotoURL.isValid(url) else { throw .invalid(field, "must be an absolute https URL") }
        return url
    }

    private static func priority(_ value: JSONValue) throws(DecodingFailure) -> [UInt8] {
        var members = try value.object("message.priority")
        var reason: String?
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null, key.equals("reason") else { return }
            let text = try value.checkedString("message.priority.reason")
            if let rule = FreeText.brokenRule(by: text, maximumCharacters: 200) {
                throw .invalid("message.priority.reason", rule)
            }
            reason = text
        }
        guard let reason else { return Array("{}".utf8) }
        var json = Array(#"{"reason":"#.utf8)
        JSONWriter.string(reason, to: &json)
        return json + [0x7D]
    }

    static func json(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        JSONWriter.string(text, to: &json)
        return json
    }
}
