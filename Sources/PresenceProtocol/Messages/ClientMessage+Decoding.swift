extension ClientMessage {
    /// The largest id of a request, and the largest version: every JSON library represents integers up to it exactly.
    public static let maximumID: Int64 = 9_007_199_254_740_991

    /// Reads one message and checks every value in it.
    ///
    /// The message is read twice: first to check its grammar and find its members, then only the members that its
    /// `type` needs. So members may come in any order, and a failure has the request's id at any position. This costs
    /// little, since the first pass builds nothing.
    ///
    /// - Parameters:
    ///   - bytes: The whole text message; lent for the call.
    ///   - limits: Only `subscribeBatch` is checked here.
    /// - Throws: `badRequest`, `unknownType`, `validationFailed` with `field`, or `tooMany`; with the request's id.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, limits: ConnectionLimits
    ) throws(DecodingFailure) -> ClientMessage {
        let (members, id) = try ClientMembers.scan(bytes)
        do throws(DecodingFailure) {
            return ClientMessage(id: id, try Body(members, limits: limits))
        } catch {
            var failure = error
            failure.id = id
            throw failure
        }
    }

    /// The same for bytes in an array.
    public static func decode(
        _ bytes: [UInt8], limits: ConnectionLimits = ConnectionLimits()
    ) throws(DecodingFailure) -> ClientMessage {
        try bytes.lend { (bytes) throws(DecodingFailure) in try decode(bytes, limits: limits) }
    }
}

extension ClientMembers {
    /// The members and the id of a message; the id is `nil` if the message has none.
    ///
    /// - Throws: `badRequest` if the message is not JSON; with the id if it was found nevertheless.
    package static func scan(
        _ bytes: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> (members: ClientMembers, id: Int64?) {
        var members = ClientMembers()
        do throws(JSONError) {
            try members.read(bytes)
        } catch {
            var failure = DecodingFailure(error)
            failure.id = (try? members.requestID()) ?? nil
            throw failure
        }
        return (members, try members.requestID())
    }

    /// The request's id, `nil` if it has none.
    ///
    /// - Throws: `badRequest` for anything but an integer from 1 to 2^53-1, `null` included.
    private func requestID() throws(DecodingFailure) -> Int64? {
        guard let id else { return nil }
        guard case .integer(let number) = id.number, (1...ClientMessage.maximumID).contains(number) else {
            throw .wrongKind("id", wanted: "an integer from 1 to 2^53-1")
        }
        return number
    }

    /// The type of a request.
    ///
    /// - Throws: `badRequest` if the message is not an object or has no type.
    package func requestType() throws(DecodingFailure) -> JSONValue {
        guard isObject else {
            throw DecodingFailure(code: .badRequest, message: "a message must be a JSON object")
        }
        guard let type else { throw .missing("type") }
        guard type.kind == .string else { throw .wrongKind("type", wanted: "a string") }
        return type
    }
}

/// The content of each request, decoded from its members and checked.
package enum ClientRequest {
    package static func typing(
        _ members: ClientMembers
    ) throws(DecodingFailure) -> (conversation: ConversationID, typing: Bool) {
        (
            try members.needed(members.conversation, "conversation").checkedIdentifier("conversation"),
            try members.needed(members.typing, "typing").checkedBool("typing")
        )
    }

    package static func activity(_ members: ClientMembers) throws(DecodingFailure) -> Activity {
        try members.needed(members.state, "state").checkedCase(of: Activity.self, "state")
    }

    package static func subscribe(
        _ members: ClientMembers, _ limits: ConnectionLimits
    ) throws(DecodingFailure) -> ClientMessage.Subscribe {
        try ClientMessage.Subscribe(members, limit: limits.subscribeBatch)
    }

    package static func unsubscribe(
        _ members: ClientMembers, _ limits: ConnectionLimits
    ) throws(DecodingFailure) -> Unwatched {
        let list = try members["conversationList"]?.checkedBool("conversationList") ?? false
        let notifications = try members["notifications"]?.checkedBool("notifications") ?? false
        let (users, conversations) = try members.watched(
            limit: limits.subscribeBatch, in: "unsubscribe", beside: list || notifications)
        return Unwatched(
            users: users, conversations: conversations, conversationList: list, notifications: notifications)
    }

    /// The subjects of an `unsubscribe`.
    package struct Unwatched {
        package let users: [UserID]
        package let conversations: [ConversationID]
        /// Whether it ends watching the list of the user's conversations.
        package let conversationList: Bool
        package let notifications: Bool
    }

    package static func get(_ members: ClientMembers, _ limits: ConnectionLimits) throws(DecodingFailure) -> [UserID] {
        let list = try members.needed(members.users, "users")
        let limit = limits.subscribeBatch
        return try list.identifiers("users", limit: limit, tooMany: .tooManyIDs(limit, in: "get")).withoutRepetitions()
    }

    package static func status(_ members: ClientMembers) throws(DecodingFailure) -> StatusChange {
        try StatusChange(
            status: members.needed(members.status, "status"), text: members.text, clearAfter: members.clearAfter)
    }

    package static func connect(_ members: ClientMembers) throws(DecodingFailure) -> ClientMessage.Connect {
        try ClientMessage.Connect(members)
    }

    package static func refresh(_ members: ClientMembers) throws(DecodingFailure) -> String {
        try members.needed(members.token, "token").checkedString("token")
    }

    package static func updateProfile(_ members: ClientMembers) throws(DecodingFailure) -> ProfileChanges {
        try ProfileChanges(members.needed(members.changes, "changes").object("changes"))
    }

    package static func createConversation(
        _ members: ClientMembers
    ) throws(DecodingFailure) -> (participants: [UserID], key: CreationKey?) {
        let list = try members.needed(members.participants, "participants")
        let ids = try list.identifiers("participants", limit: .max, tooMany: .tooManyIDs(.max, in: "conversation"))
        return (ids.withoutRepetitions(), try members.key?.checkedCreationKey("key"))
    }

    package static func setVisibility(_ members: ClientMembers) throws(DecodingFailure) -> VisibilityChange {
        var change = VisibilityChange()
        if members.visibility != nil || members.conversations == nil {
            let object = try members.needed(members.visibility, "visibility").object("visibility")
            do throws(DecodingFailure) {
                change = try VisibilityChange(object)
            } catch {
                throw error.inside("visibility")
            }
        }
        if let conversations = members.conversations { try change.readConversations(conversations) }
        return change
    }

    /// The users that a list gains or loses.
    package static func listed(
        _ members: ClientMembers, _ limits: ConnectionLimits, in type: String
    ) throws(DecodingFailure) -> [UserID] {
        try members.listed(limit: limits.subscribeBatch, in: type)
    }
}

extension ClientMessage.Body {
    fileprivate init(_ members: ClientMembers, limits: ConnectionLimits) throws(DecodingFailure) {
        let type = try members.requestType()
        if type.equals("typing") {
            let (conversation, typing) = try ClientRequest.typing(members)
            self = .typing(conversation: conversation, typing: typing)
        } else if type.equals("activity") {
            self = .activity(try ClientRequest.activity(members))
        } else if type.equals("subscribe") {
            self = .subscribe(try ClientRequest.subscribe(members, limits))
        } else if type.equals("unsubscribe") {
            let unwatched = try ClientRequest.unsubscribe(members, limits)
            self = .unsubscribe(
                users: unwatched.users, conversations: unwatched.conversations,
                conversationList: unwatched.conversationList, notifications: unwatched.notifications)
        } else if type.equals("get") {
            self = .get(users: try ClientRequest.get(members, limits))
        } else if type.equals("status") {
            self = .status(try ClientRequest.status(members))
        } else if type.equals("connect") {
            self = .connect(try ClientRequest.connect(members))
        } else if type.equals("refresh") {
            self = .refresh(token: try ClientRequest.refresh(members))
        } else if type.equals("updateProfile") {
            self = .updateProfile(try ClientRequest.updateProfile(members))
        } else if type.equals("createConversation") {
            let (participants, key) = try ClientRequest.createConversation(members)
            self = .createConversation(participants: participants, key: key)
        } else if type.equals("setVisibility") {
            self = .setVisibility(try ClientRequest.setVisibility(members))
        } else if type.equals("getVisibility") {
            self = .getVisibility
        } else if type.equals("addContacts") {
            self = .addContacts(try ClientRequest.listed(members, limits, in: "addContacts"))
        } else if type.equals("removeContacts") {
            self = .removeContacts(try ClientRequest.listed(members, limits, in: "removeContacts"))
        } else if type.equals("block") {
            self = .block(try ClientRequest.listed(members, limits, in: "block"))
        } else if type.equals("unblock") {
            self = .unblock(try ClientRequest.listed(members, limits, in: "unblock"))
        } else if type.equals("disconnect") {
            self = .disconnect
        } else {
            throw .unknownType
        }
    }
}

extension ClientMessage.KnownVersions {
    init(_ value: JSONValue) throws(DecodingFailure) {
        self.init()
        if value.kind == .null { return }
        var members = try value.object("known")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if key.equals("presence") {
                presence = try Self.version(value)
            } else if key.equals("profile") {
                profile = try Self.version(value)
            }
        }
    }

    private static func version(_ value: JSONValue) throws(DecodingFailure) -> Int64? {
        if value.kind == .null { return nil }
        switch value.number {
        case .integer(let version): return version
        case .tooLarge: return nil  // No register has such a version, so knowing it means nothing.
        case .fraction, nil: throw .wrongKind("known", wanted: "an object of objects of integers")
        }
    }
}

extension ClientMembers {
    package func needed(_ value: JSONValue?, _ field: String) throws(DecodingFailure) -> JSONValue {
        guard let value else { throw .missing(field) }
        return value
    }

    /// The users that a list gains or loses.
    fileprivate func listed(limit: Int, in type: String) throws(DecodingFailure) -> [UserID] {
        let failure = DecodingFailure(code: .tooMany, message: "at most \(limit) users in one \(type)", field: "users")
        return try needed(users, "users").identifiers("users", limit: limit, tooMany: failure).withoutRepetitions()
    }

    /// The users and conversations of `unsubscribe`. At least one list is required, unless the request names something
    /// else.
    fileprivate func watched(
        limit: Int, in type: String, beside more: Bool
    ) throws(DecodingFailure) -> (users: [UserID], conversations: [ConversationID]) {
        guard users != nil || conversations != nil || more else {
            throw DecodingFailure(code: .badRequest, message: "users or conversations is missing", field: "users")
        }
        let users = try users?.identifiers("users", limit: limit, tooMany: .tooManyIDs(limit, in: type)) ?? []
        let conversations = try conversations?.identifiers(
            "conversations", limit: limit - users.count, tooMany: .tooManyIDs(limit, in: type))
        return (users.withoutRepetitions(), conversations?.withoutRepetitions() ?? [])
    }
}

extension DecodingFailure {
    package static var unknownType: DecodingFailure {
        DecodingFailure(code: .unknownType, message: "this server does not know the type of this message")
    }

    static func tooManyIDs(_ limit: Int, in type: String) -> DecodingFailure {
        DecodingFailure(code: .tooMany, message: "at most \(limit) users and conversations in one \(type)")
    }
}
