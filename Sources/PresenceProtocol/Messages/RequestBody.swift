/// Bodies of HTTP requests that carry a list of ids.
public enum RequestBody {
    /// Reads `{"users":["bob","cy"]}`. Each id is returned once, in the order of first appearance.
    ///
    /// - Throws: `badRequest`, `validationFailed`, or `tooMany` for more than `limit` ids, repetitions counted.
    public static func users(_ json: UnsafeRawBufferPointer, limit: Int) throws(DecodingFailure) -> [UserID] {
        try identifiers("users", json, limit: limit)
    }

    /// Reads `{"participants":["ana","bob"]}`. Each id is returned once, in the order of first appearance.
    ///
    /// - Throws: `badRequest`, `validationFailed`, or `tooMany` for more than `limit` ids, repetitions counted.
    public static func participants(
        _ json: UnsafeRawBufferPointer, limit: Int = .max
    ) throws(DecodingFailure) -> [UserID] {
        try identifiers("participants", json, limit: limit)
    }

    public static func users(_ json: [UInt8], limit: Int) throws(DecodingFailure) -> [UserID] {
        try json.lend { (bytes) throws(DecodingFailure) in try users(bytes, limit: limit) }
    }

    public static func participants(_ json: [UInt8], limit: Int = .max) throws(DecodingFailure) -> [UserID] {
        try json.lend { (bytes) throws(DecodingFailure) in try participants(bytes, limit: limit) }
    }

    /// Checks that `json` is one object and nothing else, and returns a scanner at its beginning.
    package static func object(_ json: UnsafeRawBufferPointer) throws(DecodingFailure) -> JSONScanner {
        let value: JSONValue
        do throws(JSONError) {
            var scanner = JSONScanner(json)
            value = try scanner.value()
            try scanner.finish()
        } catch {
            throw DecodingFailure(error)
        }
        guard value.kind == .object else {
            throw DecodingFailure(code: .badRequest, message: "the body must be a JSON object")
        }
        return JSONScanner(value)
    }

    private static func identifiers(
        _ field: String, _ json: UnsafeRawBufferPointer, limit: Int
    ) throws(DecodingFailure) -> [Identifier] {
        var members = try object(json)
        var list: JSONValue?
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            if key.string == field { list = value.kind == .null ? nil : value }
        }
        guard let list else { throw .missing(field) }
        return try list.identifiers(field, limit: limit, tooMany: tooMany(field, limit)).withoutRepetitions()
    }

    private static func tooMany(_ field: String, _ limit: Int) -> DecodingFailure {
        DecodingFailure(code: .tooMany, message: "at most \(limit) \(field) in one request", field: field)
    }
}
