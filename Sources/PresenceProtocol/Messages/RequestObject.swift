/// The members of a JSON object in an HTTP request's body, as values that outlive its bytes. `null` counts as absent.
/// If a name occurs more than once, the last member counts.
package struct RequestObject {
    private enum Value {
        case string(String)
        case bool(Bool)
        case object([UInt8])
        case other
    }

    private var values: [String: Value] = [:]
    private var names: Set<String> = []

    /// - Throws: `badRequest` if the text is not one JSON object.
    package init(json: [UInt8]) throws(DecodingFailure) {
        self = try json.lend { (bytes) throws(DecodingFailure) in
            var object = RequestObject()
            var members = try RequestBody.object(bytes)
            try members.forEachMember { (key, value) throws(DecodingFailure) in
                guard let name = key.string else { return }
                object.values[name] = Self.copy(value)
                object.names.insert(name)
            }
            return object
        }
    }

    private init() {}

    private static func copy(_ value: JSONValue) -> Value? {
        switch value.kind {
        case .null: nil
        case .string: value.string.map { .string($0) } ?? .other
        case .bool: value.bool.map { .bool($0) } ?? .other
        case .object: .object(Array(value.bytes))
        case .array, .number: .other
        }
    }

    /// Whether the member is present, even as `null`.
    package func has(_ field: String) -> Bool { names.contains(field) }

    /// A required text.
    package func text(_ field: String) throws(DecodingFailure) -> String {
        guard let text = try optionalText(field) else { throw .missing(field) }
        return text
    }

    package func optionalText(_ field: String) throws(DecodingFailure) -> String? {
        switch values[field] {
        case nil: return nil
        case .string(let text): return text
        default: throw .wrongKind(field, wanted: "a string")
        }
    }

    package func optionalBool(_ field: String) throws(DecodingFailure) -> Bool? {
        switch values[field] {
        case nil: return nil
        case .bool(let value): return value
        default: throw .wrongKind(field, wanted: "true or false")
        }
    }

    /// The object of a member, as its bytes.
    package func optionalObject(_ field: String) throws(DecodingFailure) -> [UInt8]? {
        switch values[field] {
        case nil: return nil
        case .object(let bytes): return bytes
        default: throw .wrongKind(field, wanted: "an object")
        }
    }
}
