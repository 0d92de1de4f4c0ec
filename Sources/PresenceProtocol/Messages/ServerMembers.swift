/// The positions of the known members in a server's message. If a key occurs more than once, the last one counts.
/// `null` counts as absent: in an event, a `profile` that is `null` and a missing one mean the same.
struct ServerMembers {
    /// Whether the message was an object at all.
    private(set) var isObject = false
    private(set) var type: JSONValue?
    private(set) var id: JSONValue?
    private(set) var at: JSONValue?
    private(set) var blocks: JSONValue?
    private(set) var code: JSONValue?
    private(set) var contacts: JSONValue?
    private(set) var conversation: JSONValue?
    private(set) var conversations: JSONValue?
    private(set) var expiresIn: JSONValue?
    private(set) var field: JSONValue?
    private(set) var heartbeat: JSONValue?
    private(set) var limits: JSONValue?
    private(set) var linger: JSONValue?
    private(set) var message: JSONValue?
    private(set) var more: JSONValue?
    private(set) var reason: JSONValue?
    private(set) var outcomeUnknown: JSONValue?
    private(set) var presence: JSONValue?
    private(set) var profile: JSONValue?
    private(set) var retryAfter: JSONValue?
    private(set) var serverTime: JSONValue?
    private(set) var session: JSONValue?
    private(set) var since: JSONValue?
    private(set) var status: JSONValue?
    private(set) var until: JSONValue?
    private(set) var user: JSONValue?
    private(set) var users: JSONValue?
    private(set) var version: JSONValue?
    private(set) var visibility: JSONValue?

    /// Reads the whole message and checks its grammar.
    mutating func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = JSONScanner(bytes)
        scanner.maximumDepth = JSONScanner.maximumDepthOfServers
        if try scanner.peek() == .object {
            isObject = true
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                let value = try scanner.value()
                set(key, value.kind == .null ? nil : value)
            }
        } else {
            _ = try scanner.value()
        }
        try scanner.finish()
    }

    func needed(_ value: JSONValue?, _ field: String) throws(DecodingFailure) -> JSONValue {
        guard let value else { throw .missing(field) }
        return value
    }

    private mutating func set(_ key: JSONValue, _ value: JSONValue?) {
        if key.equals("type") {
            type = value
        } else if key.equals("id") {
            id = value
        } else if key.equals("user") {
            user = value
        } else if key.equals("presence") {
            presence = value
        } else if key.equals("at") {
            at = value
        } else if key.equals("profile") {
            profile = value
        } else if key.equals("users") {
            users = value
        } else if key.equals("conversation") {
            conversation = value
        } else if key.equals("version") {
            version = value
        } else if key.equals("more") {
            more = value
        } else if key.equals("conversations") {
            conversations = value
        } else {
            setRare(key, value)
        }
    }

    /// Members of messages that arrive at most once per connection.
    private mutating func setRare(_ key: JSONValue, _ value: JSONValue?) {
        if key.equals("code") {
            code = value
        } else if key.equals("message") {
            message = value
        } else if key.equals("field") {
            field = value
        } else if key.equals("retryAfter") {
            retryAfter = value
        } else if key.equals("until") {
            until = value
        } else if key.equals("reason") {
            reason = value
        } else if key.equals("outcomeUnknown") {
            outcomeUnknown = value
        } else if key.equals("since") {
            since = value
        } else if key.equals("status") {
            status = value
        } else if key.equals("expiresIn") {
            expiresIn = value
        } else if key.equals("session") {
            session = value
        } else if key.equals("serverTime") {
            serverTime = value
        } else if key.equals("heartbeat") {
            heartbeat = value
        } else if key.equals("linger") {
            linger = value
        } else if key.equals("limits") {
            limits = value
        } else if key.equals("visibility") {
            visibility = value
        } else if key.equals("contacts") {
            contacts = value
        } else if key.equals("blocks") {
            blocks = value
        }
    }
}
