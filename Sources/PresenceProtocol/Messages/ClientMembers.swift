/// Where the members stand that clients' messages know. Of several with one key the last counts; `null` counts as
/// absent, save in `id`, where it is wrong, and `text`, where it has a meaning.
struct ClientMembers {
    /// Whether the message was an object at all.
    private(set) var isObject = false
    private(set) var type: JSONValue?
    private(set) var id: JSONValue?
    private(set) var activity: JSONValue?
    private(set) var changes: JSONValue?
    private(set) var clearAfter: JSONValue?
    private(set) var conversation: JSONValue?
    private(set) var conversations: JSONValue?
    private(set) var device: JSONValue?
    private(set) var key: JSONValue?
    private(set) var known: JSONValue?
    private(set) var participants: JSONValue?
    private(set) var state: JSONValue?
    private(set) var status: JSONValue?
    private(set) var text: JSONValue?
    private(set) var token: JSONValue?
    private(set) var typing: JSONValue?
    private(set) var users: JSONValue?
    private(set) var visibility: JSONValue?

    /// Reads the whole message. If it throws, what was found up to there remains.
    mutating func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = JSONScanner(bytes)
        if try scanner.peek() == .object {
            isObject = true
            try scanner.beginObject()
            while let key = try scanner.nextKey() { set(key, try scanner.value()) }
        } else {
            _ = try scanner.value()
        }
        try scanner.finish()
    }

    @inline(__always)
    private mutating func set(_ key: JSONValue, _ value: JSONValue) {
        let present = value.kind == .null ? nil : value
        if key.equals("type") {
            type = present
        } else if key.equals("id") {
            id = value
        } else if key.equals("users") {
            users = present
        } else if key.equals("state") {
            state = present
        } else if key.equals("typing") {
            typing = present
        } else if key.equals("conversation") {
            conversation = present
        } else if key.equals("conversations") {
            conversations = present
        } else if key.equals("known") {
            known = present
        } else if key.equals("status") {
            status = present
        } else if key.equals("text") {
            text = value
        } else if key.equals("clearAfter") {
            clearAfter = present
        } else if key.equals("token") {
            token = present
        } else if key.equals("device") {
            device = present
        } else if key.equals("activity") {
            activity = present
        } else if key.equals("changes") {
            changes = present
        } else if key.equals("participants") {
            participants = present
        } else if key.equals("visibility") {
            visibility = present
        } else if key.equals("key") {
            self.key = present
        }
    }
}
