// Registers and other objects as a client reads them: it tolerates additions of later servers.

extension Presence {
    /// - Throws: `badRequest` if this is not an object with a `version` and a `status`.
    init(_ value: JSONValue) throws(DecodingFailure) {
        self.init(version: 0, status: .offline)
        var hasVersion = false
        var statusName: JSONValue?
        var members = try value.object("presence")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if value.kind == .null { return }
            if key.equals("version") {
                version = try value.checkedInteger("presence.version")
                hasVersion = true
            } else if key.equals("status") {
                statusName = value
            } else if key.equals("since") {
                since = try value.checkedInteger("presence.since")
            } else if key.equals("lastSeen") {
                lastSeen = try value.checkedInteger("presence.lastSeen")
            } else if key.equals("text") {
                text = try value.checkedString("presence.text")
            } else if key.equals("devices") {
                devices = try Self.devices(value)
            }
        }
        guard hasVersion else { throw .missing("presence.version") }
        guard let statusName else { throw .missing("presence.status") }
        // An old client that does not know the status can still show whether the user is online.
        let unknown: PresenceStatus = devices.isEmpty ? .offline : .away
        status = PresenceStatus(rawValue: try statusName.checkedString("presence.status")) ?? unknown
    }

    /// Sorted and without repetition, even if several unknown kinds of a later server have become `.other`.
    private static func devices(_ value: JSONValue) throws(DecodingFailure) -> [DeviceKind] {
        var kinds = try value.elements("presence.devices") { (element) throws(DecodingFailure) in
            DeviceKind(rawValue: try element.checkedString("presence.devices")) ?? .other
        }
        guard kinds.count > 1 else { return kinds }
        kinds.sort()
        return kinds.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}

extension Profile {
    /// - Throws: `badRequest` if this is not an object with a `version`.
    init(_ value: JSONValue) throws(DecodingFailure) {
        self.init(version: 0)
        var hasVersion = false
        var members = try value.object("profile")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if value.kind == .null { return }
            if key.equals("version") {
                version = try value.checkedInteger("profile.version")
                hasVersion = true
            } else if key.equals("displayName") {
                displayName = try value.checkedString("profile.displayName")
            } else if key.equals("username") {
                username = try value.checkedString("profile.username")
            } else if key.equals("photoURL") {
                photoURL = try value.checkedString("profile.photoURL")
            } else if key.equals("thumbnailURL") {
                thumbnailURL = try value.checkedString("profile.thumbnailURL")
            } else if key.equals("timezone") {
                timezone = try value.checkedString("profile.timezone")
            } else if key.equals("locale") {
                locale = try value.checkedString("profile.locale")
            } else if key.equals("createdAt") {
                createdAt = try value.checkedInteger("profile.createdAt")
            } else if key.equals("updatedAt") {
                updatedAt = try value.checkedInteger("profile.updatedAt")
            }
        }
        guard hasVersion else { throw .missing("profile.version") }
    }
}

extension ProfileRegister {
    /// - Parameter value: `nil` or `null` for no profile.
    init(_ value: JSONValue?) throws(DecodingFailure) {
        guard let value, value.kind != .null else {
            self = .none
            return
        }
        self = .profile(try Profile(value))
    }
}

extension UserSnapshot {
    init(_ value: JSONValue) throws(DecodingFailure) {
        var user: UserID?
        var presence: Presence?
        var profile: ProfileRegister?
        var members = try value.object("users")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if key.equals("user") {
                user = try value.checkedIdentifier("user")
            } else if key.equals("presence") {
                presence = value.kind == .null ? nil : try Presence(value)
            } else if key.equals("profile") {
                profile = try ProfileRegister(value)
            }
        }
        guard let user else { throw .missing("user") }
        self.init(user: user, presence: presence, profile: profile)
    }
}

extension OwnStatus {
    init(_ value: JSONValue) throws(DecodingFailure) {
        self.init()
        var members = try value.object("status")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if value.kind == .null { return }
            if key.equals("status") {
                status = ChosenStatus(rawValue: try value.checkedString("status.status")) ?? .auto
            } else if key.equals("text") {
                text = try value.checkedString("status.text")
            } else if key.equals("clearAt") {
                clearAt = try value.checkedInteger("status.clearAt")
            }
        }
    }
}

extension ServerMessage.Conversation {
    init(_ value: JSONValue) throws(DecodingFailure) {
        var id: ConversationID?
        var participants: [UserID] = []
        var members = try value.object("conversation")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if key.equals("id") {
                id = try value.checkedIdentifier("conversation.id")
            } else if key.equals("participants") {
                participants = try value.allIdentifiers("conversation.participants")
            }
        }
        guard let id else { throw .missing("conversation.id") }
        self.init(id: id, participants: participants)
    }
}

extension ServerMessage.ConversationSnapshot {
    init(_ value: JSONValue) throws(DecodingFailure) {
        var conversation: ConversationID?
        var version: Int64?
        var typing: [UserID] = []
        var members = try value.object("conversations")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if key.equals("conversation") {
                conversation = try value.checkedIdentifier("conversation")
            } else if key.equals("version") {
                version = try value.checkedInteger("version")
            } else if key.equals("typing") {
                typing = try value.allIdentifiers("typing")
            }
        }
        guard let conversation else { throw .missing("conversation") }
        guard let version else { throw .missing("version") }
        self.init(conversation: conversation, version: version, typing: typing)
    }
}
