import PresenceProtocol

/// A notification as Redis has it: JSON without the last brace.
enum NotificationItem {
    /// A notification in a form that clients can read. Earlier versions accepted `data` that is nested too deeply for clients:
    /// such `data` is left out, and the rest stays.
    static func readable(_ json: [UInt8]) -> [UInt8] {
        // The notification is one level, its data the next ones.
        guard ForeignJSON.depth(json) > ForeignJSON.deepest + 1 else { return json }
        let shallow = try? (json + [UInt8(ascii: "}")]).lend { (bytes) throws(DecodingFailure) in try members(of: bytes)
        }
        return shallow ?? json
    }

    private static func members(of bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> [UInt8] {
        var rest: [UInt8] = []
        var members = try RequestBody.object(bytes)
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard !key.equals("data") else { return }
            rest += rest.isEmpty ? [UInt8(ascii: "{")] : [UInt8(ascii: ",")]
            write(key, to: &rest)
            rest.append(UInt8(ascii: ":"))
            write(value, to: &rest)
        }
        return rest
    }

    /// Writes the value as it is in the text.
    private static func write(_ value: JSONValue, to json: inout [UInt8]) {
        let quote = value.kind == .string ? [UInt8(ascii: "\"")] : []
        json += quote + Array(value.bytes) + quote
    }
}
