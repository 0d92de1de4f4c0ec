extension ClientMessage.Subscribe {
    func encodeMembers(into output: inout [UInt8]) {
        if messages.isEmpty {
            if !conversationList && !notifications || !users.isEmpty || !conversations.isEmpty {
                ClientMessage.Body.encode(users: users, conversations: conversations, into: &output)
            }
        } else {
            if !users.isEmpty { JSONWriter.member("users", users, to: &output) }
            encodeConversations(into: &output)
        }
        if conversationList { JSONWriter.raw(",\"conversationList\":true", to: &output) }
        if notifications { JSONWriter.raw(",\"notifications\":true", to: &output) }
        encodeKnown(into: &output)
    }

    private func encodeConversations(into output: inout [UInt8]) {
        JSONWriter.key("conversations", to: &output)
        for (index, id) in conversations.enumerated() {
            JSONWriter.raw(index == 0 ? "[" : ",", to: &output)
            guard let cursor = messages[id] else {
                JSONWriter.string(id.string, to: &output)
                continue
            }
            JSONWriter.raw("{\"id\":", to: &output)
            JSONWriter.string(id.string, to: &output)
            if let after = cursor.after { JSONWriter.member("after", after, to: &output) }
            if let version = cursor.messagesVersion { JSONWriter.member("messagesVersion", version, to: &output) }
            JSONWriter.raw("}", to: &output)
        }
        JSONWriter.raw("]", to: &output)
    }

    private func encodeKnown(into output: inout [UInt8]) {
        // In a fixed order, so that equal messages have equal bytes.
        let held = users.filter { known[$0] != nil }
        let conversations = knownConversations.sorted { $0.key < $1.key }
        guard !held.isEmpty || !conversations.isEmpty else { return }
        JSONWriter.key("known", to: &output)
        JSONWriter.raw("{", to: &output)
        for (index, user) in held.enumerated() {
            if index > 0 { JSONWriter.raw(",", to: &output) }
            JSONWriter.string(user.string, to: &output)
            JSONWriter.raw(":{", to: &output)
            let versions = known[user]!
            if let presence = versions.presence {
                JSONWriter.raw("\"presence\":", to: &output)
                JSONWriter.integer(presence, to: &output)
            }
            if let profile = versions.profile {
                JSONWriter.raw(versions.presence == nil ? "\"profile\":" : ",\"profile\":", to: &output)
                JSONWriter.integer(profile, to: &output)
            }
            JSONWriter.raw("}", to: &output)
        }
        for (index, (id, version)) in conversations.enumerated() {
            if index > 0 || !held.isEmpty { JSONWriter.raw(",", to: &output) }
            JSONWriter.string(id.string, to: &output)
            JSONWriter.raw(":", to: &output)
            JSONWriter.integer(version, to: &output)
        }
        JSONWriter.raw("}", to: &output)
    }
}
