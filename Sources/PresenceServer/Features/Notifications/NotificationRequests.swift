import PresenceProtocol

/// The requests about notifications, decoded and checked.
enum NotificationRequest {
    /// Marks of a user.
    struct Marks {
        /// The seq up to which notifications were seen; 0: not given.
        let seen: Int64
        let read: [Int64]
        let archived: [Int64]
    }

    /// A page of older notifications.
    struct Page {
        /// The page has notifications before this seq.
        let before: Int64
        let limit: Int64
    }

    /// A notification of a backend.
    struct New {
        var users: [UserID] = []
        var id: Identifier?
        var kind: CreationKey?
        /// Title and text as JSON; empty if there is none.
        var title: [UInt8] = []
        var body: [UInt8] = []
        var data: [UInt8] = []
        var collapse: Identifier?
        /// For its push; `nil` if the backend has not set it.
        var push: NotificationPush?
        var urgency: PushUrgency?
        var expires: Timestamp?

        /// In ms: a session may get it before its push is decided; `nil`: there is no push.
        var waitForPush: Milliseconds? {
            switch push ?? .away {
            case .away: PushScheduler.wait
            case .always: 0
            case .never: nil
            }
        }

        /// The object between `seq` and `at`.
        var json: [UInt8] {
            var json: [UInt8] = []
            JSONWriter.member("id", id!.string, to: &json)
            JSONWriter.member("kind", kind!.string, to: &json)
            for (name, value) in [("title", title), ("body", body), ("data", data)] where !value.isEmpty {
                json += Array(",\"\(name)\":".utf8) + value
            }
            if let push { JSONWriter.member("push", push.rawValue, to: &json) }
            if let urgency { JSONWriter.member("urgency", urgency.rawValue, to: &json) }
            if let expires { JSONWriter.member("expires", expires, to: &json) }
            return json
        }
    }

    /// The most seqs in one `markNotifications`.
    static let mostMarks = 1_000
    static let mostInPage: Int64 = 50
    static let mostTitle = 200
    static let mostBody = 1_000
    static let mostData = 2_048

    static func marks(_ members: ClientMembers) throws(DecodingFailure) -> Marks {
        let (seen, read, archived) = (members["seen"], members["read"], members["archived"])
        guard seen != nil || read != nil || archived != nil else {
            throw DecodingFailure(
                code: .badRequest, message: "seen, read or archived is missing", field: "seen")
        }
        var left = mostMarks
        func seqs(_ value: JSONValue?, _ field: String) throws(DecodingFailure) -> [Int64] {
            let list = try value?.elements(field) { (element) throws(DecodingFailure) in
                guard left > 0 else {
                    throw DecodingFailure(
                        code: .tooMany, message: "at most \(mostMarks) notifications in one request", field: field)
                }
                left -= 1
                let seq = try element.checkedInteger(field)
                guard seq > 0 else { throw .invalid(field, "must be of numbers from 1 on") }
                return seq
            }
            return list ?? []
        }
        return Marks(
            seen: try seen?.checkedCount("seen") ?? 0, read: try seqs(read, "read"),
            archived: try seqs(archived, "archived"))
    }

    static func page(_ members: ClientMembers) throws(DecodingFailure) -> Page {
        let before = try members["before"]?.checkedInteger("before") ?? .max
        let limit = try members["limit"]?.checkedInteger("limit") ?? mostInPage
        guard before > 0 else { throw .invalid("before", "must be at least 1") }
        guard (1...mostInPage).contains(limit) else { throw .invalid("limit", "must be from 1 to \(mostInPage)") }
        return Page(before: before, limit: limit)
    }

    /// - Parameter limit: The most users.
    static func new(_ json: [UInt8], limit: Int) throws(DecodingFailure) -> New {
        let new = try json.lend { (bytes) throws(DecodingFailure) in
            var new = New()
            var users: [UserID]?
            var members = try RequestBody.object(bytes)
            try members.forEachMember { (key, value) throws(DecodingFailure) in
                guard value.kind != .null else { return }
                if key.equals("users") {
                    users = try value.identifiers(
                        "users", limit: limit,
                        tooMany: DecodingFailure(
                            code: .tooMany, message: "at most \(limit) users in one request", field: "users"))
                } else {
                    try new.decode(key, value)
                }
            }
            guard let users else { throw DecodingFailure.missing("users") }
            new.users = users.withoutRepetitions()
            return new
        }
        if new.id == nil { throw .missing("id") }
        if new.kind == nil { throw .missing("kind") }
        if new.title.isEmpty { throw .missing("title") }
        return new
    }
}

extension NotificationRequest.New {
    fileprivate mutating func decode(_ key: JSONValue, _ value: JSONValue) throws(DecodingFailure) {
        if key.equals("id") {
            id = try value.checkedIdentifier("id")
        } else if key.equals("kind") {
            kind = try value.checkedCreationKey("kind")
        } else if key.equals("collapse") {
            collapse = try value.checkedIdentifier("collapse")
        } else if key.equals("title") {
            let text = try value.checkedString("title")
            if let rule = FreeText.brokenRule(by: text, maximumCharacters: NotificationRequest.mostTitle) {
                throw .invalid("title", rule)
            }
            guard FreeText.isVisible(text) else { throw .invalid("title", "must have a visible character") }
            title = Self.json(text)
        } else if key.equals("body") {
            let text = try value.checkedString("body")
            let broken = MessageRequest.brokenRule(
                by: text, characters: NotificationRequest.mostBody, bytes: 4 * NotificationRequest.mostBody)
            if let broken { throw .invalid("body", broken) }
            body = text.isEmpty ? [] : Self.json(text)
        } else if key.equals("data") {
            guard value.kind == .object else { throw .wrongKind("data", wanted: "an object") }
            data = ForeignJSON.compact(value.bytes)
            guard data.count <= NotificationRequest.mostData else {
                throw .invalid("data", "must be at most 2 KiB long")
            }
            try ForeignJSON.check(data, "data")
        } else if key.equals("push") {
            push = try Self.word(value, "push")
        } else if key.equals("urgency") {
            urgency = try Self.word(value, "urgency")
        } else if key.equals("expires") {
            expires = try value.checkedCount("expires")
        }
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ value: JSONValue, _ field: String
    ) throws(DecodingFailure) -> Word {
        guard let word = Word(rawValue: try value.checkedString(field)) else {
            throw .invalid(field, "must be one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    private static func json(_ text: String) -> [UInt8] {
        var json: [UInt8] = []
        JSONWriter.string(text, to: &json)
        return json
    }
}
