extension ClientMessage.Subscribe {
    init(_ members: ClientMembers, limit: Int) throws(DecodingFailure) {
        let list = try members["conversationList"]?.checkedBool("conversationList") ?? false
        let notifications = try members["notifications"]?.checkedBool("notifications") ?? false
        guard members.users != nil || members.conversations != nil || list || notifications else {
            throw DecodingFailure(code: .badRequest, message: "users or conversations is missing", field: "users")
        }
        func tooMany() -> DecodingFailure { .tooManyIDs(limit, in: "subscribe") }
        let users = try members.users?.identifiers("users", limit: limit, tooMany: tooMany()) ?? []
        self.init(users: users.withoutRepetitions())
        conversationList = list
        self.notifications = notifications
        try readConversations(members.conversations, limit: limit - users.count, tooMany)
        if let known = members.known { try readKnown(known) }
    }

    /// A bare id subscribes to typing, an object to the messages as well.
    private mutating func readConversations(
        _ list: JSONValue?, limit: Int, _ tooMany: () -> DecodingFailure
    ) throws(DecodingFailure) {
        guard let list else { return }
        var left = limit
        let elements = try list.elements("conversations") { (element) throws(DecodingFailure) in
            guard left > 0 else { throw tooMany() }
            left -= 1
            guard element.kind == .object else {
                return (id: try element.checkedIdentifier("conversations"), cursor: ClientMessage.MessageCursor?.none)
            }
            let (id, cursor) = try Self.cursor(element)
            return (id: id, cursor: cursor)
        }
        conversations = elements.map(\.id).withoutRepetitions()
        for case (let id, let cursor?) in elements { messages[id] = cursor }
    }

    private static func cursor(
        _ value: JSONValue
    ) throws(DecodingFailure) -> (ConversationID, ClientMessage.MessageCursor) {
        var members = try value.object("conversations")
        var id: ConversationID?
        var cursor = ClientMessage.MessageCursor()
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null else { return }
            if key.equals("id") {
                id = try value.checkedIdentifier("conversations.id")
            } else if key.equals("after") {
                cursor.after = try value.checkedCount("conversations.after")
            } else if key.equals("messagesVersion") {
                cursor.messagesVersion = try value.checkedCount("conversations.messagesVersion")
            }
        }
        guard let id else { throw .missing("conversations.id") }
        return (id, cursor)
    }

    /// No conversation has so large a version: the client's version is not one of this server's, and the client gets
    /// the current one.
    private static func knownVersion(_ value: JSONValue) throws(DecodingFailure) -> Int64 {
        switch value.number {
        case .integer(let version) where version <= ClientMessage.maximumID: version
        case .integer, .tooLarge: 0
        case .fraction, nil: throw .wrongKind("known", wanted: "an object of objects of integers, and of integers")
        }
    }

    /// For users, an object of two versions each; for conversations, one version each.
    private mutating func readKnown(_ value: JSONValue) throws(DecodingFailure) {
        var versions = try value.object("known")
        let few = users.count <= 16
        let watched = few ? [] : Set(users)
        try versions.forEachMember { (key, value) throws(DecodingFailure) in
            if conversationList, value.kind == .number {
                let version = try Self.knownVersion(value)
                if let id = key.identifier { knownConversations[id] = version }
                return
            }
            let known = try ClientMessage.KnownVersions(value)
            // Ignores versions of users that the request does not name.
            guard let user = key.identifier, few ? users.contains(user) : watched.contains(user) else { return }
            self.known[user] = known
        }
    }
}

extension JSONValue {
    /// An integer that is not negative.
    package func checkedCount(_ field: String) throws(DecodingFailure) -> Int64 {
        let value = try checkedInteger(field)
        guard value >= 0 else { throw .invalid(field, "must not be negative") }
        return value
    }
}
