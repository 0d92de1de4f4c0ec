import PresenceProtocol

/// The arguments of each request about messages, decoded and checked; `Sending.swift` has those of `send`. `Messages` answers the requests.
enum MessageRequest {
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
    static let mostInPage: Int64 = 100
    static let standardPage: Int64 = 50

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

    // MARK: Values

    static func id(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> String {
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

    static func json(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        JSONWriter.string(text, to: &json)
        return json
    }
}
