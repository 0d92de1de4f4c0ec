extension ClientMessage {
    /// The message as the text to send.
    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(128)
        encode(into: &output)
        return output
    }

    /// Appends the message as one JSON object.
    public func encode(into output: inout [UInt8]) {
        JSONWriter.raw("{\"type\":\"", to: &output)
        JSONWriter.raw(body.type, to: &output)
        JSONWriter.raw("\"", to: &output)
        if let id { JSONWriter.member("id", id, to: &output) }
        body.encodeMembers(into: &output)
        JSONWriter.raw("}", to: &output)
    }
}

extension ClientMessage.Body {
    fileprivate var type: StaticString {
        switch self {
        case .connect: "connect"
        case .refresh: "refresh"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .get: "get"
        case .status: "status"
        case .activity: "activity"
        case .updateProfile: "updateProfile"
        case .createConversation: "createConversation"
        case .typing: "typing"
        case .setVisibility: "setVisibility"
        case .getVisibility: "getVisibility"
        case .addContacts: "addContacts"
        case .removeContacts: "removeContacts"
        case .block: "block"
        case .unblock: "unblock"
        case .disconnect: "disconnect"
        }
    }

    fileprivate func encodeMembers(into output: inout [UInt8]) {
        switch self {
        case .connect(let connect): connect.encodeMembers(into: &output)
        case .refresh(let token): JSONWriter.member("token", token, to: &output)
        case .subscribe(let subscribe):
            subscribe.encodeMembers(into: &output)
        case .unsubscribe(let users, let conversations, let list, let notifications):
            if !users.isEmpty || !conversations.isEmpty || !list && !notifications {
                Self.encode(users: users, conversations: conversations, into: &output)
            }
            if list { JSONWriter.raw(",\"conversationList\":true", to: &output) }
            if notifications { JSONWriter.raw(",\"notifications\":true", to: &output) }
        case .get(let users): JSONWriter.member("users", users, to: &output)
        case .status(let change):
            JSONWriter.raw(",", to: &output)
            change.encodeMembers(into: &output)
        case .activity(let activity): JSONWriter.member("state", activity.rawValue, to: &output)
        case .updateProfile(let changes):
            JSONWriter.key("changes", to: &output)
            changes.encode(into: &output)
        case .createConversation(let participants, let key):
            JSONWriter.member("participants", participants, to: &output)
            if let key { JSONWriter.member("key", key.string, to: &output) }
        case .typing(let conversation, let typing):
            JSONWriter.member("conversation", conversation.string, to: &output)
            JSONWriter.key("typing", to: &output)
            JSONWriter.bool(typing, to: &output)
        case .setVisibility(let change):
            JSONWriter.key("visibility", to: &output)
            change.encode(into: &output)
            Visibility(conversationsFrom: change.conversationsFrom).encodeConversations(into: &output)
        case .addContacts(let users), .removeContacts(let users), .block(let users), .unblock(let users):
            JSONWriter.member("users", users, to: &output)
        case .getVisibility, .disconnect: break
        }
    }

    /// At least one of the lists is required: if both are empty, writes `users`.
    static func encode(users: [UserID], conversations: [ConversationID], into output: inout [UInt8]) {
        if !users.isEmpty || conversations.isEmpty { JSONWriter.member("users", users, to: &output) }
        if !conversations.isEmpty { JSONWriter.member("conversations", conversations, to: &output) }
    }
}

extension ClientMessage.Connect {
    fileprivate func encodeMembers(into output: inout [UInt8]) {
        if let token { JSONWriter.member("token", token, to: &output) }
        if let device {
            JSONWriter.key("device", to: &output)
            device.encode(into: &output)
        }
        JSONWriter.member("activity", activity.rawValue, to: &output)
        if let status {
            JSONWriter.raw(",\"status\":{", to: &output)
            status.encodeMembers(into: &output)
            JSONWriter.raw("}", to: &output)
        }
    }
}

extension Device {
    fileprivate func encode(into output: inout [UInt8]) {
        let brace = output.count
        if let id { JSONWriter.member("id", id.string, to: &output) }
        JSONWriter.member("kind", kind.rawValue, to: &output)
        if let name { JSONWriter.member("name", name, to: &output) }
        // Each member was written with a comma before it; the brace replaces the first one.
        output[brace] = UInt8(ascii: "{")
        JSONWriter.raw("}", to: &output)
    }
}

extension StatusChange {
    /// Appends the members without braces, `status` first.
    fileprivate func encodeMembers(into output: inout [UInt8]) {
        JSONWriter.raw("\"status\":", to: &output)
        JSONWriter.string(status.rawValue, to: &output)
        JSONWriter.change("text", text, to: &output)
        if let clearAfter { JSONWriter.member("clearAfter", clearAfter, to: &output) }
    }
}

extension ProfileChanges {
    /// Appends the changes as one JSON object, as `updateProfile` and the HTTP interface carry them.
    public func encode(into output: inout [UInt8]) {
        let brace = output.count
        JSONWriter.change("displayName", displayName, to: &output)
        JSONWriter.change("photoURL", photoURL, to: &output)
        JSONWriter.change("timezone", timezone, to: &output)
        JSONWriter.change("locale", locale, to: &output)
        // Each member was written with a comma before it; the brace replaces the first one.
        if output.count == brace { output.append(UInt8(ascii: ",")) }
        output[brace] = UInt8(ascii: "{")
        output.append(UInt8(ascii: "}"))
    }
}
