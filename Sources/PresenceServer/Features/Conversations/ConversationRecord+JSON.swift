import PresenceProtocol

/// The Conversation object of the protocol, as one of its members sees it.
extension ConversationRecord {
    /// - Parameters:
    ///   - viewer: one of its members; `nil` for a backend, which sees what all members see.
    ///   - now: by Redis' clock; decides whether a timed mute is over.
    ///   - withMessage: whether the last message is a part, which may be another user's.
    func json(for viewer: UserID?, at now: Timestamp, withMessage: Bool = true) -> [UInt8] {
        var json = Array(#"{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        JSONWriter.member("version", viewer.map { version(for: $0, at: now) } ?? version, to: &json)
        JSONWriter.member("kind", isDirect ? "direct" : "group", to: &json)
        if let name {
            JSONWriter.key("name", to: &json)
            json += name
        }
        JSONWriter.member("participants", members.map(\.user).sorted(), to: &json)
        writeMembers(for: viewer, to: &json)
        if let owner, !isDirect { JSONWriter.member("owner", owner.string, to: &json) }
        if let metadata {
            JSONWriter.key("metadata", to: &json)
            json += metadata
        }
        JSONWriter.member("createdAt", createdAt, to: &json)
        JSONWriter.member("first", first, to: &json)
        JSONWriter.member("last", last, to: &json)
        if withMessage, let message {
            JSONWriter.key("lastMessage", to: &json)
            message.write(to: &json)
        }
        if let own = viewer.flatMap(member) { write(own, at: now, to: &json) }
        JSONWriter.raw("}", to: &json)
        return json
    }

    /// Members who hide their receipts do not see those of others. A stranger does not see that a member hides them.
    private func writeMembers(for viewer: UserID?, to json: inout [UInt8]) {
        let isBlind = viewer.flatMap(member)?.hidesReceipts ?? false
        JSONWriter.key("members", to: &json)
        for (index, member) in members.enumerated() {
            JSONWriter.raw(index == 0 ? "[" : ",", to: &json)
            JSONWriter.raw("{\"user\":", to: &json)
            JSONWriter.string(member.user.string, to: &json)
            if member.user == viewer {
                JSONWriter.member("read", member.read, to: &json)
            } else if !isBlind, !member.hidesReceipts || isRequest(to: member) {
                JSONWriter.member("read", member.shown, to: &json)
            }
            let shown = viewer.map { delivered(member, for: $0) } ?? member.delivered
            JSONWriter.member("delivered", shown, to: &json)
            JSONWriter.raw("}", to: &json)
        }
        JSONWriter.raw(members.isEmpty ? "[]" : "]", to: &json)
    }

    /// The fields that only this member sees.
    private func write(_ own: Member, at now: Timestamp, to json: inout [UInt8]) {
        let seen = max(own.read, own.own)
        JSONWriter.member("unread", unread(by: own), to: &json)
        if isRequest(to: own) { JSONWriter.raw(",\"request\":true", to: &json) }
        let urgent = priority.count { $0 > seen }
        if urgent > 0 {
            JSONWriter.raw(",\"hasUnreadPriority\":true", to: &json)
            JSONWriter.member("priorityCount", Int64(urgent), to: &json)
        }
        if isMuted(own, at: now) {
            JSONWriter.raw(",\"muted\":true", to: &json)
            if own.muted > 0 { JSONWriter.member("mutedUntil", own.muted, to: &json) }
        }
        if own.archived > 0 {
            JSONWriter.raw(",\"archived\":true", to: &json)
            JSONWriter.member("archivedAt", own.archived, to: &json)
        }
    }

    /// The object of a conversation for a user who is no longer a member.
    static func removed(_ id: ConversationID, version: Int64) -> [UInt8] {
        var json = Array(#"{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        JSONWriter.member("version", version, to: &json)
        JSONWriter.raw(",\"removed\":true}", to: &json)
        return json
    }
}
