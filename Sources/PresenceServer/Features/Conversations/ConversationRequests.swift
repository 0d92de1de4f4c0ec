import PresenceProtocol

/// The arguments of each request about conversations, decoded and checked.
enum ConversationRequest {
    struct Creation {
        let participants: [UserID]
        let key: CreationKey?
        /// JSON; `metadata` is JSON too.
        let name: [UInt8]?
        let metadata: [UInt8]?
    }

    struct Settings {
        let conversation: ConversationID
        let muted: Bool?
        let muteFor: Milliseconds?
        let archived: Bool?
    }

    struct MemberChange {
        let conversation: ConversationID
        let change: ListChange
    }

    struct Marks {
        let conversation: ConversationID
        let delivered: Int64
        let read: Int64
    }

    /// The longest name of a group, in characters.
    static let longestName = 100
    private static let mostMetadata = 2_048
    private static let longestMute: Milliseconds = 366 * 24 * 3_600_000

    static func create(_ members: ClientMembers) throws(DecodingFailure) -> Creation {
        let (participants, key) = try ClientRequest.createConversation(members)
        return Creation(
            participants: participants, key: key, name: try members["name"].map(name) ?? nil,
            metadata: try members["metadata"].map(metadata))
    }

    static func conversation(_ members: ClientMembers) throws(DecodingFailure) -> ConversationID {
        try members.needed(members.conversation, "conversation").checkedIdentifier("conversation")
    }

    static func settings(_ members: ClientMembers) throws(DecodingFailure) -> Settings {
        let muteFor = try members["muteFor"]?.checkedInteger("muteFor")
        if let muteFor, !(1...longestMute).contains(muteFor) {
            throw .invalid("muteFor", "must be from 1 ms to 366 days")
        }
        let settings = Settings(
            conversation: try conversation(members), muted: try members["muted"]?.checkedBool("muted"),
            muteFor: muteFor, archived: try members["archived"]?.checkedBool("archived"))
        if muteFor != nil, settings.muted != true { throw .invalid("muteFor", "goes with \"muted\":true") }
        return settings
    }

    static func rename(
        _ members: ClientMembers
    ) throws(DecodingFailure) -> (conversation: ConversationID, name: [UInt8]?) {
        guard let value = members["name"] else { throw .missing("name") }
        return (try conversation(members), try name(value))
    }

    static func changeMembers(
        _ members: ClientMembers, _ limits: ConnectionLimits
    ) throws(DecodingFailure) -> MemberChange {
        let limit = limits.subscribeBatch
        guard members["add"] != nil || members["remove"] != nil else { throw .missing("add") }
        func users(_ value: JSONValue?, _ field: String) throws(DecodingFailure) -> [UserID] {
            let tooMany = DecodingFailure(
                code: .tooMany, message: "at most \(limit) users in one request", field: field)
            return try value?.identifiers(field, limit: limit, tooMany: tooMany).withoutRepetitions() ?? []
        }
        let change = ListChange(add: try users(members["add"], "add"), remove: try users(members["remove"], "remove"))
        guard Set(change.add).isDisjoint(with: change.remove) else {
            throw .invalid("remove", "must not name anybody whom add names")
        }
        return MemberChange(conversation: try conversation(members), change: change)
    }

    static func marks(_ members: ClientMembers) throws(DecodingFailure) -> Marks {
        guard members["delivered"] != nil || members["read"] != nil else { throw .missing("read") }
        return Marks(
            conversation: try conversation(members),
            delivered: try members["delivered"]?.checkedCount("delivered") ?? 0,
            read: try members["read"]?.checkedCount("read") ?? 0)
    }

    /// The name as JSON; `nil` for an empty one.
    private static func name(_ value: JSONValue) throws(DecodingFailure) -> [UInt8]? {
        let name = FreeText.trimmed(try value.checkedString("name"))
        if name.isEmpty { return nil }
        if let rule = FreeText.brokenRule(by: name, maximumCharacters: longestName) { throw .invalid("name", rule) }
        guard FreeText.isVisible(name) else { throw .invalid("name", "must have a visible character") }
        var json: [UInt8] = []
        JSONWriter.string(name, to: &json)
        return json
    }

    /// The app's own object, without white space between its tokens, so without line feeds.
    private static func metadata(_ value: JSONValue) throws(DecodingFailure) -> [UInt8] {
        guard value.kind == .object else { throw .wrongKind("metadata", wanted: "an object") }
        let json = ForeignJSON.compact(value.bytes)
        guard json.count <= mostMetadata else { throw .invalid("metadata", "must be at most 2 KiB long") }
        try ForeignJSON.check(json, "metadata")
        return json
    }
}
