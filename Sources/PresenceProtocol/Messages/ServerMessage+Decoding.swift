extension ServerMessage {
    /// Reads one message from a server, which may be newer than this library.
    ///
    /// Unknown members are ignored, and an unknown `type` becomes `.unknown`. From values of a later server, an unknown
    /// device becomes `.other`, an unknown presence `.away` with devices and `.offline` without, and an unknown chosen
    /// status `.auto`.
    ///
    /// - Parameter bytes: The whole text message; lent for the call.
    /// - Throws: `badRequest` if the message is not one JSON object with a `type`, or lacks a required member;
    ///   `validationFailed` for an invalid id. Such a message is a fault of the server.
    public static func decode(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> ServerMessage {
        var members = ServerMembers()
        do throws(JSONError) { try members.read(bytes) } catch { throw DecodingFailure(error) }
        guard members.isObject else {
            throw DecodingFailure(code: .badRequest, message: "a message must be a JSON object")
        }
        guard let type = members.type else { throw .missing("type") }
        return try ServerMessage(type: type, members)
    }

    /// The same for bytes in an array.
    public static func decode(_ bytes: [UInt8]) throws(DecodingFailure) -> ServerMessage {
        try bytes.lend { (bytes) throws(DecodingFailure) in try decode(bytes) }
    }

    private init(type: JSONValue, _ members: ServerMembers) throws(DecodingFailure) {
        let id = try members.id?.checkedInteger("id")
        // Frequent types first.
        if type.equals("presence") {
            let user = try members.needed(members.user, "user").checkedIdentifier("user")
            let presence = try Presence(members.needed(members.presence, "presence"))
            self = .presence(user: user, presence, at: try members.at?.checkedInteger("at"))
        } else if type.equals("typing") {
            self = .typing(try TypingEvent(members))
        } else if type.equals("profile") {
            let user = try members.needed(members.user, "user").checkedIdentifier("user")
            let profile = try ProfileRegister(members.profile)
            self = .profile(user: user, profile, at: try members.at?.checkedInteger("at"))
        } else if type.equals("ok") {
            guard let id else { throw .missing("id") }
            self = .ok(id: id)
        } else if type.equals("subscribed") {
            self = .subscribed(
                id: id,
                users: try members.users?.elements("users", UserSnapshot.init) ?? [],
                conversations: try members.conversations?.elements("conversations", ConversationSnapshot.init) ?? [],
                more: members.more?.bool ?? false)
        } else if type.equals("users") {
            let users = try members.users?.elements("users", UserSnapshot.init) ?? []
            self = .users(id: id, users, more: members.more?.bool ?? false)
        } else if type.equals("error") {
            self = .error(try ErrorMessage(id: id, members))
        } else if type.equals("connected") {
            self = .connected(id: id, try Connected(members))
        } else if type.equals("profileUpdated") {
            self = .profileUpdated(id: id, try Profile(members.needed(members.profile, "profile")))
        } else if type.equals("conversationCreated") {
            self = .conversationCreated(
                id: id, try Conversation(members.needed(members.conversation, "conversation")))
        } else if type.equals("ownStatus") {
            self = .ownStatus(try OwnStatus(members.needed(members.status, "status")))
        } else if type.equals("visibility") {
            self = .visibility(id: id, try VisibilityLists(members), more: members.more?.bool ?? false)
        } else if type.equals("ownVisibility") {
            self = .ownVisibility(try OwnVisibility(members))
        } else if type.equals("tokenExpiring") {
            let expiresIn = try members.needed(members.expiresIn, "expiresIn").checkedInteger("expiresIn")
            self = .tokenExpiring(expiresIn: expiresIn)
        } else if type.equals("stale") {
            self = .stale(since: try members.since?.checkedInteger("since"))
        } else if type.equals("live") {
            self = .live
        } else if type.equals("refreshed") {
            self = .refreshed(id: id)
        } else if type.equals("unsubscribed") {
            self = .unsubscribed(id: id)
        } else {
            self = .unknown(type: try type.checkedString("type"), id: id, more: members.more?.bool ?? false)
        }
    }
}

extension ServerMessage.TypingEvent {
    fileprivate init(_ members: ServerMembers) throws(DecodingFailure) {
        self.init(
            conversation: try members.needed(members.conversation, "conversation").checkedIdentifier("conversation"),
            version: try members.needed(members.version, "version").checkedInteger("version"),
            users: try members.needed(members.users, "users").allIdentifiers("users"),
            more: max(0, Int(clamping: try members.more?.checkedInteger("more") ?? 0)),
            at: try members.at?.checkedInteger("at"))
    }
}

extension ServerMessage.ErrorMessage {
    fileprivate init(id: Int64?, _ members: ServerMembers) throws(DecodingFailure) {
        self.init(
            id: id,
            code: ErrorCode(rawValue: try members.needed(members.code, "code").checkedString("code")),
            message: try members.message?.checkedString("message") ?? "",
            field: try members.field?.checkedString("field"), reason: try members.reason?.checkedString("reason"),
            retryAfter: try members.retryAfter?.checkedInteger("retryAfter"),
            until: try members.until?.checkedInteger("until"),
            outcomeUnknown: try members.outcomeUnknown?.checkedBool("outcomeUnknown") ?? false)
    }
}

extension ServerMessage.Connected {
    fileprivate init(_ members: ServerMembers) throws(DecodingFailure) {
        self.init(
            user: try members.needed(members.user, "user").checkedIdentifier("user"),
            session: try members.needed(members.session, "session").checkedString("session"),
            serverTime: try members.needed(members.serverTime, "serverTime").checkedInteger("serverTime"),
            status: nil, heartbeatInterval: 20_000, heartbeatTimeout: 10_000, linger: 10_000,
            limits: ConnectionLimits())
        if let value = members.status { status = try OwnStatus(value) }
        if let value = members.linger { linger = try value.checkedInteger("linger") }
        if let value = members.heartbeat {
            var heartbeat = try value.object("heartbeat")
            try heartbeat.forEachMember { (key, value) throws(DecodingFailure) in
                if key.equals("interval") {
                    heartbeatInterval = try value.checkedInteger("heartbeat.interval")
                } else if key.equals("timeout") {
                    heartbeatTimeout = try value.checkedInteger("heartbeat.timeout")
                }
            }
        }
        if let value = members.limits { limits = try ConnectionLimits(value) }
    }
}

extension ConnectionLimits {
    fileprivate init(_ value: JSONValue) throws(DecodingFailure) {
        self.init()
        var limits = try value.object("limits")
        try limits.forEachMember { (key, value) throws(DecodingFailure) in
            if key.equals("maxMessageBytes") {
                maxMessageBytes = Int(clamping: try value.checkedInteger("limits.maxMessageBytes"))
            } else if key.equals("maxServerMessageBytes") {
                maxServerMessageBytes = Int(clamping: try value.checkedInteger("limits.maxServerMessageBytes"))
            } else if key.equals("subscriptions") {
                subscriptions = Int(clamping: try value.checkedInteger("limits.subscriptions"))
            } else if key.equals("subscribeBatch") {
                subscribeBatch = Int(clamping: try value.checkedInteger("limits.subscribeBatch"))
            }
        }
    }
}
