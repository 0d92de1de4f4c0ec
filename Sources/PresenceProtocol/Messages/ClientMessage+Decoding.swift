extension ClientMessage {
    /// The largest id of a request: the largest integer that every JSON library keeps exactly.
    public static let maximumID: Int64 = 9_007_199_254_740_991

    /// Reads one message and checks every value in it.
    ///
    /// The message is read twice: once to check its grammar and to find its members, then once those that its `type`
    /// needs. That is how members may come in any order and a failure knows the request's id wherever it stands, and it
    /// costs little, since the first reading builds nothing.
    ///
    /// - Parameters:
    ///   - bytes: The whole text message; lent for the call.
    ///   - limits: Of these only `subscribeBatch` is judged here.
    /// - Throws: `badRequest`, `unknownType`, `validationFailed` with `field`, or `tooMany`; with the request's id.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, limits: ConnectionLimits
    ) throws(DecodingFailure) -> ClientMessage {
        var members = ClientMembers()
        do throws(JSONError) {
            try members.read(bytes)
        } catch {
            var failure = DecodingFailure(error)
            failure.id = (try? members.requestID()) ?? nil
            throw failure
        }
        let id = try members.requestID()
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
    /// The request's id, `nil` if it has none.
    ///
    /// - Throws: `badRequest` for anything but an integer from 1 to 2^53-1, `null` included.
    fileprivate func requestID() throws(DecodingFailure) -> Int64? {
        guard let id else { return nil }
        guard case .integer(let number) = id.number, (1...ClientMessage.maximumID).contains(number) else {
            throw .wrongKind("id", wanted: "an integer from 1 to 2^53-1")
        }
        return number
    }
}

extension ClientMessage.Body {
    fileprivate init(_ members: ClientMembers, limits: ConnectionLimits) throws(DecodingFailure) {
        guard members.isObject else {
            throw DecodingFailure(code: .badRequest, message: "a message must be a JSON object")
        }
        guard let type = members.type else { throw .missing("type") }
        guard type.kind == .string else { throw .wrongKind("type", wanted: "a string") }
        // The frequent ones first.
        if type.equals("typing") {
            self = .typing(
                conversation: try members.needed(members.conversation, "conversation").checkedIdentifier(
                    "conversation"),
                typing: try members.needed(members.typing, "typing").checkedBool("typing"))
        } else if type.equals("activity") {
            self = .activity(try members.needed(members.state, "state").checkedCase(of: Activity.self, "state"))
        } else if type.equals("subscribe") {
            self = .subscribe(try ClientMessage.Subscribe(members, limit: limits.subscribeBatch))
        } else if type.equals("unsubscribe") {
            let (users, conversations) = try members.watched(limit: limits.subscribeBatch, in: "unsubscribe")
            self = .unsubscribe(users: users, conversations: conversations)
        } else if type.equals("get") {
            let list = try members.needed(members.users, "users")
            let limit = limits.subscribeBatch
            let users = try list.identifiers("users", limit: limit, tooMany: .tooManyIDs(limit, in: "get"))
            self = .get(users: users.withoutRepetitions())
        } else if type.equals("status") {
            self = .status(
                try StatusChange(
                    status: members.needed(members.status, "status"), text: members.text, clearAfter: members.clearAfter
                ))
        } else if type.equals("connect") {
            self = .connect(try ClientMessage.Connect(members))
        } else if type.equals("refresh") {
            self = .refresh(token: try members.needed(members.token, "token").checkedString("token"))
        } else if type.equals("updateProfile") {
            let changes = try members.needed(members.changes, "changes")
            self = .updateProfile(try ProfileChanges(changes.object("changes")))
        } else if type.equals("createConversation") {
            let list = try members.needed(members.participants, "participants")
            let ids = try list.identifiers("participants", limit: .max, tooMany: .tooManyIDs(.max, in: "conversation"))
            self = .createConversation(
                participants: ids.withoutRepetitions(), key: try members.key?.checkedCreationKey("key"))
        } else if type.equals("setVisibility") {
            let change = try members.needed(members.visibility, "visibility").object("visibility")
            do throws(DecodingFailure) {
                self = .setVisibility(try VisibilityChange(change))
            } catch {
                throw error.inside("visibility")
            }
        } else if type.equals("getVisibility") {
            self = .getVisibility
        } else if type.equals("addContacts") {
            self = .addContacts(try members.listed(limit: limits.subscribeBatch, in: "addContacts"))
        } else if type.equals("removeContacts") {
            self = .removeContacts(try members.listed(limit: limits.subscribeBatch, in: "removeContacts"))
        } else if type.equals("block") {
            self = .block(try members.listed(limit: limits.subscribeBatch, in: "block"))
        } else if type.equals("unblock") {
            self = .unblock(try members.listed(limit: limits.subscribeBatch, in: "unblock"))
        } else if type.equals("disconnect") {
            self = .disconnect
        } else {
            throw DecodingFailure(code: .unknownType, message: "this server does not know the type of this message")
        }
    }
}

extension ClientMessage.Subscribe {
    fileprivate init(_ members: ClientMembers, limit: Int) throws(DecodingFailure) {
        let (users, conversations) = try members.watched(limit: limit, in: "subscribe")
        self.init(users: users, conversations: conversations)
        guard let value = members.known else { return }
        var versions = try value.object("known")
        let few = users.count <= 16
        let watched = few ? [] : Set(users)
        try versions.forEachMember { (key, value) throws(DecodingFailure) in
            let known = try ClientMessage.KnownVersions(value)
            // Versions of people who are not asked for are of no use to anyone.
            guard let user = key.identifier, few ? users.contains(user) : watched.contains(user) else { return }
            self.known[user] = known
        }
    }
}

extension ClientMessage.KnownVersions {
    fileprivate init(_ value: JSONValue) throws(DecodingFailure) {
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
        case .tooLarge: return nil  // No register has such a version, so knowing it is knowing nothing.
        case .fraction, nil: throw .wrongKind("known", wanted: "an object of objects of integers")
        }
    }
}

extension ClientMembers {
    func needed(_ value: JSONValue?, _ field: String) throws(DecodingFailure) -> JSONValue {
        guard let value else { throw .missing(field) }
        return value
    }

    /// The people whom a list gains or loses.
    fileprivate func listed(limit: Int, in type: String) throws(DecodingFailure) -> [UserID] {
        let failure = DecodingFailure(code: .tooMany, message: "at most \(limit) users in one \(type)", field: "users")
        return try needed(users, "users").identifiers("users", limit: limit, tooMany: failure).withoutRepetitions()
    }

    /// The people and conversations of `subscribe` and `unsubscribe`, of which at least one list must be there.
    fileprivate func watched(
        limit: Int, in type: String
    ) throws(DecodingFailure) -> (users: [UserID], conversations: [ConversationID]) {
        guard users != nil || conversations != nil else {
            throw DecodingFailure(code: .badRequest, message: "users or conversations is missing", field: "users")
        }
        let users = try users?.identifiers("users", limit: limit, tooMany: .tooManyIDs(limit, in: type)) ?? []
        let conversations = try conversations?.identifiers(
            "conversations", limit: limit - users.count, tooMany: .tooManyIDs(limit, in: type))
        return (users.withoutRepetitions(), conversations?.withoutRepetitions() ?? [])
    }
}

extension DecodingFailure {
    fileprivate static func tooManyIDs(_ limit: Int, in type: String) -> DecodingFailure {
        DecodingFailure(code: .tooMany, message: "at most \(limit) users and conversations in one \(type)")
    }
}
