extension ServerMessage {
    /// The message as the text to send.
    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(256)
        encode(into: &output)
        return output
    }

    /// Appends the message as one JSON object of any length: `SnapshotReply` splits long replies.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .connected(let id, let connected): ServerMessageWriter.connected(id: id, connected, to: &output)
        case .refreshed(let id): ServerMessageWriter.refreshed(id: id, to: &output)
        case .ok(let id): ServerMessageWriter.ok(id: id, to: &output)
        case .subscribed(let id, let users, let conversations, let more):
            Self.encode("subscribed", id: id, users, conversations, more: more, into: &output)
        case .unsubscribed(let id): ServerMessageWriter.unsubscribed(id: id, to: &output)
        case .users(let id, let users, let more):
            Self.encode("users", id: id, users, [], more: more, into: &output)
        case .profileUpdated(let id, let profile):
            ServerMessageWriter.profileUpdated(id: id, profile: profile.encoded(), to: &output)
        case .conversationCreated(let id, let conversation):
            ServerMessageWriter.conversationCreated(id: id, conversation, to: &output)
        case .presence(let user, let presence, let at):
            ServerMessageWriter.presence(user: user, presence: presence.encoded(), at: at, to: &output)
        case .profile(let user, let profile, let at):
            ServerMessageWriter.profile(user: user, profile: profile.encoded(), at: at, to: &output)
        case .typing(let event): ServerMessageWriter.typing(event, to: &output)
        case .ownStatus(let status): ServerMessageWriter.ownStatus(status, to: &output)
        case .visibility(let id, let lists, let more):
            ServerMessageWriter.visibility(id: id, lists, more: more, to: &output)
        case .ownVisibility(let visibility): ServerMessageWriter.ownVisibility(visibility, to: &output)
        case .tokenExpiring(let expiresIn): ServerMessageWriter.tokenExpiring(expiresIn: expiresIn, to: &output)
        case .stale(let since): ServerMessageWriter.stale(since: since, to: &output)
        case .live: ServerMessageWriter.live(to: &output)
        case .error(let error): ServerMessageWriter.error(error, to: &output)
        case .unknown(let type, let id, let more):
            JSONWriter.raw("{\"type\":", to: &output)
            JSONWriter.string(type, to: &output)
            if let id { JSONWriter.member("id", id, to: &output) }
            if more { JSONWriter.raw(",\"more\":true", to: &output) }
            JSONWriter.raw("}", to: &output)
        }
    }

    private static func encode(
        _ type: StaticString, id: Int64?, _ users: [UserSnapshot], _ conversations: [ConversationSnapshot], more: Bool,
        into output: inout [UInt8]
    ) {
        ServerMessageWriter.begin(type, id: id, to: &output)
        if !users.isEmpty || conversations.isEmpty {
            JSONWriter.key("users", to: &output)
            encode(users, into: &output) { $0.encode(into: &$1) }
        }
        if !conversations.isEmpty {
            JSONWriter.key("conversations", to: &output)
            encode(conversations, into: &output) { $0.encode(into: &$1) }
        }
        if more { JSONWriter.raw(",\"more\":true", to: &output) }
        JSONWriter.raw("}", to: &output)
    }

    private static func encode<Element>(
        _ elements: [Element], into output: inout [UInt8], _ encode: (Element, inout [UInt8]) -> Void
    ) {
        JSONWriter.raw("[", to: &output)
        for (index, element) in elements.enumerated() {
            if index > 0 { JSONWriter.raw(",", to: &output) }
            encode(element, &output)
        }
        JSONWriter.raw("]", to: &output)
    }
}
