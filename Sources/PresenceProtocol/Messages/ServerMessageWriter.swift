/// Appends messages to clients as bytes, from values or from pieces that are JSON already.
///
/// The server encodes a register once, where it changes, and every shard passes those bytes on. So messages take
/// registers as bytes, which are valid during the call and are not checked: a message is only as correct as its
/// registers. Each function appends exactly one whole message, without framing.
public enum ServerMessageWriter {
    /// The presence of a user who is unknown, does not exist, or is hidden from the client.
    public static let unknownPresence = Array(#"{"version":0,"status":"offline"}"#.utf8)
    /// The profile register of a user without a profile, or hidden from the client.
    public static let noProfile = Array("null".utf8)

    // MARK: Answers

    public static func connected(id: Int64?, _ connected: ServerMessage.Connected, to output: inout [UInt8]) {
        self.connected(
            id: id, user: connected.user, session: connected.session, serverTime: connected.serverTime,
            status: connected.status,
            settings: settings(
                heartbeatInterval: connected.heartbeatInterval, heartbeatTimeout: connected.heartbeatTimeout,
                linger: connected.linger, limits: connected.limits), to: &output)
    }

    /// - Parameter settings: As `settings` encodes them.
    package static func connected(
        id: Int64?, user: UserID, session: String, serverTime: Timestamp, status: OwnStatus?, settings: [UInt8],
        to output: inout [UInt8]
    ) {
        begin("connected", id: id, to: &output)
        JSONWriter.member("user", user.string, to: &output)
        JSONWriter.member("session", session, to: &output)
        JSONWriter.member("serverTime", serverTime, to: &output)
        if let status {
            JSONWriter.key("status", to: &output)
            status.encode(into: &output)
        }
        output.append(contentsOf: settings)
        JSONWriter.raw("}", to: &output)
    }

    /// The part of `connected` that is the same for every client: its last members, each with the comma before it.
    package static func settings(
        heartbeatInterval: Milliseconds, heartbeatTimeout: Milliseconds, linger: Milliseconds, limits: ConnectionLimits
    ) -> [UInt8] {
        var output: [UInt8] = []
        JSONWriter.raw(",\"heartbeat\":{\"interval\":", to: &output)
        JSONWriter.integer(heartbeatInterval, to: &output)
        JSONWriter.member("timeout", heartbeatTimeout, to: &output)
        JSONWriter.raw("}", to: &output)
        JSONWriter.member("linger", linger, to: &output)
        JSONWriter.raw(",\"limits\":{", to: &output)
        limitMembers(limits, to: &output)
        JSONWriter.raw("}", to: &output)
        return output
    }

    /// Appends the members of `limits`, without braces.
    package static func limitMembers(_ limits: ConnectionLimits, to output: inout [UInt8]) {
        JSONWriter.raw("\"maxMessageBytes\":", to: &output)
        JSONWriter.integer(Int64(limits.maxMessageBytes), to: &output)
        JSONWriter.member("maxServerMessageBytes", Int64(limits.maxServerMessageBytes), to: &output)
        JSONWriter.member("subscriptions", Int64(limits.subscriptions), to: &output)
        JSONWriter.member("subscribeBatch", Int64(limits.subscribeBatch), to: &output)
    }

    public static func refreshed(id: Int64?, to output: inout [UInt8]) {
        begin("refreshed", id: id, to: &output)
        JSONWriter.raw("}", to: &output)
    }

    public static func ok(id: Int64, to output: inout [UInt8]) {
        begin("ok", id: id, to: &output)
        JSONWriter.raw("}", to: &output)
    }

    public static func unsubscribed(id: Int64?, to output: inout [UInt8]) {
        begin("unsubscribed", id: id, to: &output)
        JSONWriter.raw("}", to: &output)
    }

    /// - Parameter profile: The register's bytes: an object.
    public static func profileUpdated(id: Int64?, profile: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        begin("profileUpdated", id: id, to: &output)
        JSONWriter.key("profile", to: &output)
        JSONWriter.raw(profile, to: &output)
        JSONWriter.raw("}", to: &output)
    }

    public static func profileUpdated(id: Int64?, profile: [UInt8], to output: inout [UInt8]) {
        profile.withUnsafeBytes { profileUpdated(id: id, profile: $0, to: &output) }
    }

    public static func conversationCreated(
        id: Int64?, _ conversation: ServerMessage.Conversation, to output: inout [UInt8]
    ) {
        begin("conversationCreated", id: id, to: &output)
        JSONWriter.key("conversation", to: &output)
        conversation.encode(into: &output)
        JSONWriter.raw("}", to: &output)
    }

    public static func visibility(id: Int64?, _ lists: VisibilityLists, more: Bool, to output: inout [UInt8]) {
        begin("visibility", id: id, to: &output)
        lists.encodeMembers(into: &output)
        if more { JSONWriter.raw(",\"more\":true", to: &output) }
        JSONWriter.raw("}", to: &output)
    }

    public static func error(_ error: ServerMessage.ErrorMessage, to output: inout [UInt8]) {
        begin("error", id: error.id, to: &output)
        JSONWriter.member("code", error.code.rawValue, to: &output)
        JSONWriter.member("message", error.message, to: &output)
        if let field = error.field { JSONWriter.member("field", field, to: &output) }
        if let reason = error.reason { JSONWriter.member("reason", reason, to: &output) }
        if let retryAfter = error.retryAfter { JSONWriter.member("retryAfter", retryAfter, to: &output) }
        if let until = error.until { JSONWriter.member("until", until, to: &output) }
        if error.outcomeUnknown { JSONWriter.raw(",\"outcomeUnknown\":true", to: &output) }
        JSONWriter.raw("}", to: &output)
    }

    // MARK: Events

    /// - Parameter presence: The register's bytes: an object.
    public static func presence(
        user: UserID, presence: UnsafeRawBufferPointer, at: Timestamp?, to output: inout [UInt8]
    ) {
        register("presence", user: user, presence, at: at, to: &output)
    }

    public static func presence(user: UserID, presence: [UInt8], at: Timestamp?, to output: inout [UInt8]) {
        presence.withUnsafeBytes { register("presence", user: user, $0, at: at, to: &output) }
    }

    /// - Parameter profile: The register's bytes: an object, or `null` for none.
    public static func profile(
        user: UserID, profile: UnsafeRawBufferPointer, at: Timestamp?, to output: inout [UInt8]
    ) {
        register("profile", user: user, profile, at: at, to: &output)
    }

    public static func profile(user: UserID, profile: [UInt8], at: Timestamp?, to output: inout [UInt8]) {
        profile.withUnsafeBytes { register("profile", user: user, $0, at: at, to: &output) }
    }

    public static func typing(_ event: ServerMessage.TypingEvent, to output: inout [UInt8]) {
        begin("typing", id: nil, to: &output)
        JSONWriter.member("conversation", event.conversation.string, to: &output)
        JSONWriter.member("version", event.version, to: &output)
        JSONWriter.member("users", event.users, to: &output)
        if event.more > 0 { JSONWriter.member("more", Int64(event.more), to: &output) }
        if let at = event.at { JSONWriter.member("at", at, to: &output) }
        JSONWriter.raw("}", to: &output)
    }

    public static func ownStatus(_ status: OwnStatus, to output: inout [UInt8]) {
        begin("ownStatus", id: nil, to: &output)
        JSONWriter.key("status", to: &output)
        status.encode(into: &output)
        JSONWriter.raw("}", to: &output)
    }

    public static func ownVisibility(_ own: OwnVisibility, to output: inout [UInt8]) {
        begin("ownVisibility", id: nil, to: &output)
        JSONWriter.key("visibility", to: &output)
        own.visibility.encode(into: &output)
        own.visibility.encodeConversations(into: &output)
        JSONWriter.member("contacts", Int64(own.contacts), to: &output)
        JSONWriter.member("blocks", Int64(own.blocks), to: &output)
        JSONWriter.raw("}", to: &output)
    }

    public static func tokenExpiring(expiresIn: Milliseconds, to output: inout [UInt8]) {
        begin("tokenExpiring", id: nil, to: &output)
        JSONWriter.member("expiresIn", expiresIn, to: &output)
        JSONWriter.raw("}", to: &output)
    }

    public static func stale(since: Timestamp?, to output: inout [UInt8]) {
        begin("stale", id: nil, to: &output)
        if let since { JSONWriter.member("since", since, to: &output) }
        JSONWriter.raw("}", to: &output)
    }

    public static func live(to output: inout [UInt8]) {
        begin("live", id: nil, to: &output)
        JSONWriter.raw("}", to: &output)
    }

    // MARK: Pieces

    package static func begin(_ type: StaticString, id: Int64?, to output: inout [UInt8]) {
        JSONWriter.raw("{\"type\":\"", to: &output)
        JSONWriter.raw(type, to: &output)
        JSONWriter.raw("\"", to: &output)
        if let id { JSONWriter.member("id", id, to: &output) }
    }

    private static func register(
        _ type: StaticString, user: UserID, _ register: UnsafeRawBufferPointer, at: Timestamp?, to output: inout [UInt8]
    ) {
        begin(type, id: nil, to: &output)
        JSONWriter.member("user", user.string, to: &output)
        JSONWriter.key(type, to: &output)
        JSONWriter.raw(register, to: &output)
        if let at { JSONWriter.member("at", at, to: &output) }
        JSONWriter.raw("}", to: &output)
    }
}
