/// The positions of the members in a client's message. If a key occurs more than once, the last one counts. `null`
/// counts as absent, except in `id`, where it is an error, and in `text`, where it has a meaning.
///
/// The values point into the message: they are valid as long as its bytes are.
package struct ClientMembers {
    /// Whether the message was an object at all.
    package private(set) var isObject = false
    package private(set) var type: JSONValue?
    package private(set) var id: JSONValue?
    package private(set) var activity: JSONValue?
    package private(set) var changes: JSONValue?
    package private(set) var clearAfter: JSONValue?
    package private(set) var conversation: JSONValue?
    package private(set) var conversations: JSONValue?
    package private(set) var device: JSONValue?
    package private(set) var key: JSONValue?
    package private(set) var known: JSONValue?
    package private(set) var participants: JSONValue?
    package private(set) var state: JSONValue?
    package private(set) var status: JSONValue?
    package private(set) var text: JSONValue?
    package private(set) var token: JSONValue?
    package private(set) var typing: JSONValue?
    package private(set) var users: JSONValue?
    package private(set) var visibility: JSONValue?
    /// Members with other keys. Features' requests may know some of them.
    private var others: [(key: JSONValue, value: JSONValue)] = []
    /// The most members with other keys that are kept.
    private static let mostOthers = 32

    package init() {}

    /// A member with a key that no property above has.
    package subscript(key: StaticString) -> JSONValue? {
        others.last { $0.key.equals(key) }.flatMap { $0.value.kind == .null ? nil : $0.value }
    }

    /// Reads the whole message. If it throws, the members found so far remain.
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
        } else if others.count < Self.mostOthers {
            others.append((key, value))
        }
    }
}
