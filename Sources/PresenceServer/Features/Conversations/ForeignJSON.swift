import PresenceProtocol

/// JSON of an app's own that is passed on as it came: `metadata` of conversations, `data` of notifications.
enum ForeignJSON {
    /// Clients may reject JSON that is nested deeper than 32, and receive this JSON inside a list in a message.
    static let deepest = 16

    static func check(_ json: [UInt8], _ field: String) throws(DecodingFailure) {
        guard depth(json) <= deepest else { throw .invalid(field, "must not be nested deeper than \(deepest)") }
    }

    /// How deep objects and arrays are nested; 0 for a string or a number.
    static func depth(_ json: [UInt8]) -> Int {
        var (depth, deepest) = (0, 0)
        var isInString = false
        var isEscaped = false
        for byte in json {
            if isInString {
                (isEscaped, isInString) = (!isEscaped && byte == 0x5C, isEscaped || byte != 0x22)
            } else if byte == 0x22 {
                isInString = true
            } else if byte == 0x5B || byte == 0x7B {
                depth += 1
                deepest = max(deepest, depth)
            } else if byte == 0x5D || byte == 0x7D {
                depth -= 1
            }
        }
        return deepest
    }

    /// Removes white space between tokens, so no line feed is left.
    static func compact(_ json: UnsafeRawBufferPointer) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(json.count)
        var isInString = false
        var isEscaped = false
        for byte in json {
            if isInString {
                output.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == 0x5C {
                    isEscaped = true
                } else if byte == 0x22 {
                    isInString = false
                }
            } else if byte > 0x20 {
                output.append(byte)
                isInString = byte == 0x22
            }
        }
        return output
    }
}
