// The encoding of who may see a user.

extension Visibility {
    /// Appends the object.
    public func encode(into output: inout [UInt8]) {
        JSONWriter.raw("{\"presence\":", to: &output)
        JSONWriter.string(presence.rawValue, to: &output)
        JSONWriter.member("lastSeen", lastSeen.rawValue, to: &output)
        if let receipts { JSONWriter.member("receipts", receipts.rawValue, to: &output) }
        if let findable { JSONWriter.member("findable", findable.rawValue, to: &output) }
        JSONWriter.raw("}", to: &output)
    }

    /// Appends `,"conversations":{"from":…}`, which is beside the object, if it was ever set.
    public func encodeConversations(into output: inout [UInt8]) {
        guard let conversationsFrom else { return }
        JSONWriter.raw(",\"conversations\":{\"from\":", to: &output)
        JSONWriter.string(conversationsFrom.rawValue, to: &output)
        JSONWriter.raw("}", to: &output)
    }

    /// Decodes as a client reads it: an unknown audience of a later server counts as `nobody`.
    init(_ value: JSONValue) throws(DecodingFailure) {
        self.init()
        var members = try value.object("visibility")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if value.kind == .null { return }
            if key.equals("presence") {
                presence = Audience(rawValue: try value.checkedString("visibility.presence")) ?? .nobody
            } else if key.equals("lastSeen") {
                lastSeen = Audience(rawValue: try value.checkedString("visibility.lastSeen")) ?? .nobody
            } else if key.equals("receipts") {
                receipts = Audience(rawValue: try value.checkedString("visibility.receipts")) ?? .nobody
            } else if key.equals("findable") {
                findable = Audience(rawValue: try value.checkedString("visibility.findable")) ?? .nobody
            }
        }
    }
}

extension VisibilityChange {
    public var isEmpty: Bool {
        presence == nil && lastSeen == nil && receipts == nil && findable == nil && conversationsFrom == nil
    }

    /// Reads the change from a JSON object, as the body of an HTTP request carries it.
    ///
    /// - Throws: `badRequest` if the text is not one JSON object or has a member of the wrong kind, `validationFailed`
    ///   for an unknown audience.
    public static func decode(json: [UInt8]) throws(DecodingFailure) -> VisibilityChange {
        try json.lend { (bytes) throws(DecodingFailure) in try VisibilityChange(RequestBody.object(bytes), isBody: true)
        }
    }

    /// Reads the object at the scanner's position.
    ///
    /// - Parameter isBody: Whether it is the body of a call, which has all settings.
    init(_ scanner: consuming JSONScanner, isBody: Bool = false) throws(DecodingFailure) {
        self.init()
        var members = scanner
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if key.equals("presence") {
                presence = value.kind == .null ? nil : try value.checkedCase(of: Audience.self, "presence")
            } else if key.equals("lastSeen") {
                lastSeen = value.kind == .null ? nil : try value.checkedCase(of: Audience.self, "lastSeen")
            } else if key.equals("receipts") {
                receipts = value.kind == .null ? nil : try Self.receipts(value)
            } else if key.equals("findable") {
                findable = value.kind == .null ? nil : try value.checkedCase(of: Audience.self, "findable")
            } else if key.equals("conversations"), isBody, value.kind != .null {
                try readConversations(value)
            }
        }
    }

    /// Reads `{"from":"contacts"}`, which is beside the other settings.
    mutating func readConversations(_ value: JSONValue) throws(DecodingFailure) {
        var members = try value.object("conversations")
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard key.equals("from"), value.kind != .null else { return }
            let audience = Audience(rawValue: try value.checkedString("conversations.from"))
            guard let audience, audience != .nobody else {
                throw .invalid("conversations.from", "must be one of everyone, contacts")
            }
            conversationsFrom = audience
        }
    }

    private static func receipts(_ value: JSONValue) throws(DecodingFailure) -> Audience {
        let audience = Audience(rawValue: try value.checkedString("receipts"))
        guard let audience, audience != .contacts else { throw .invalid("receipts", "must be one of everyone, nobody") }
        return audience
    }

    func encode(into output: inout [UInt8]) {
        let brace = output.count
        if let presence { JSONWriter.member("presence", presence.rawValue, to: &output) }
        if let lastSeen { JSONWriter.member("lastSeen", lastSeen.rawValue, to: &output) }
        if let receipts { JSONWriter.member("receipts", receipts.rawValue, to: &output) }
        if let findable { JSONWriter.member("findable", findable.rawValue, to: &output) }
        // Each member was written with a comma before it; the brace replaces the first one.
        if output.count == brace { output.append(UInt8(ascii: ",")) }
        output[brace] = UInt8(ascii: "{")
        output.append(UInt8(ascii: "}"))
    }
}

extension ListChange {
    /// Reads `{"add":["bob"],"remove":["cy"]}`; one of the lists may be missing. Each id is returned once.
    ///
    /// - Throws: `badRequest`, `validationFailed` (also for a user in both lists), or `tooMany` for more than `limit`
    ///   ids in both lists together, repetitions counted.
    public static func decode(json: [UInt8], limit: Int) throws(DecodingFailure) -> ListChange {
        try json.lend { (bytes) throws(DecodingFailure) in try ListChange(RequestBody.object(bytes), limit: limit) }
    }

    private init(_ scanner: consuming JSONScanner, limit: Int) throws(DecodingFailure) {
        self.init()
        var members = scanner
        var add: JSONValue?
        var remove: JSONValue?
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            let present = value.kind == .null ? nil : value
            if key.equals("add") { add = present } else if key.equals("remove") { remove = present }
        }
        guard add != nil || remove != nil else { throw .missing("add") }
        let added = try add?.identifiers("add", limit: limit, tooMany: Self.tooMany("add", limit)) ?? []
        let removed = try remove?.identifiers(
            "remove", limit: limit - added.count, tooMany: Self.tooMany("remove", limit))
        self.add = added.withoutRepetitions()
        self.remove = removed?.withoutRepetitions() ?? []
        guard Set(self.add).isDisjoint(with: self.remove) else {
            throw .invalid("remove", "must not name anybody whom add names")
        }
    }

    private static func tooMany(_ field: String, _ limit: Int) -> DecodingFailure {
        DecodingFailure(code: .tooMany, message: "at most \(limit) users in one request", field: field)
    }
}

extension Visibility {
    /// Decodes the settings of a server's message.
    fileprivate init(_ members: ServerMembers) throws(DecodingFailure) {
        try self.init(members.needed(members.visibility, "visibility"))
        guard let conversations = members.conversations else { return }
        var object = try conversations.object("conversations")
        try object.forEachMember { (key, value) throws(DecodingFailure) in
            guard key.equals("from"), value.kind != .null else { return }
            // An unknown audience of a later server counts as `contacts`.
            let audience = Audience(rawValue: try value.checkedString("conversations.from"))
            conversationsFrom = audience == .everyone ? .everyone : .contacts
        }
    }
}

extension OwnVisibility {
    init(_ members: ServerMembers) throws(DecodingFailure) {
        self.init(
            visibility: try Visibility(members),
            contacts: Int(clamping: try members.contacts?.checkedInteger("contacts") ?? 0),
            blocks: Int(clamping: try members.blocks?.checkedInteger("blocks") ?? 0))
    }
}

extension VisibilityLists {
    init(_ members: ServerMembers) throws(DecodingFailure) {
        self.init(
            visibility: try Visibility(members),
            contacts: try members.contacts?.allIdentifiers("contacts") ?? [],
            blocks: try members.blocks?.allIdentifiers("blocks") ?? [])
    }

    /// Appends the members of a reply, each with the comma before it.
    func encodeMembers(into output: inout [UInt8]) {
        JSONWriter.key("visibility", to: &output)
        visibility.encode(into: &output)
        visibility.encodeConversations(into: &output)
        JSONWriter.member("contacts", contacts, to: &output)
        JSONWriter.member("blocks", blocks, to: &output)
    }

    /// Splits the lists into parts whose ids have at most `limit` bytes each: contacts first, then blocks; at least one
    /// part.
    public func parts(bytes limit: Int) -> [VisibilityLists] {
        var parts = [VisibilityLists(visibility: visibility)]
        var used = 0
        func room(for id: UserID) -> Bool {
            // The longest encoding of an id of printable ASCII: each quote and backslash escaped, with quotes around it
            // and a comma.
            let needed = id.string.utf8.reduce(3) { $0 + ($1 == 0x22 || $1 == 0x5C ? 2 : 1) }
            defer { used += needed }
            guard used + needed > limit, used > 0 else { return true }
            used = 0
            return false
        }
        for (ids, list) in [(contacts, \VisibilityLists.contacts), (blocks, \VisibilityLists.blocks)] {
            for id in ids {
                if !room(for: id) { parts.append(VisibilityLists(visibility: visibility)) }
                parts[parts.count - 1][keyPath: list].append(id)
            }
        }
        return parts
    }
}
