/// Members after the first: each brings the comma before it.
extension JSONWriter {
    package static func key(_ name: StaticString, to output: inout [UInt8]) {
        raw(",\"", to: &output)
        raw(name, to: &output)
        raw("\":", to: &output)
    }

    package static func member(_ name: StaticString, _ value: Int64, to output: inout [UInt8]) {
        key(name, to: &output)
        integer(value, to: &output)
    }

    package static func member(_ name: StaticString, _ value: String, to output: inout [UInt8]) {
        key(name, to: &output)
        string(value, to: &output)
    }

    package static func member(_ name: StaticString, _ ids: [Identifier], to output: inout [UInt8]) {
        key(name, to: &output)
        identifiers(ids, to: &output)
    }

    package static func change(_ name: StaticString, _ change: Change<String>, to output: inout [UInt8]) {
        switch change {
        case .keep: break
        case .remove:
            key(name, to: &output)
            raw("null", to: &output)
        case .set(let value): member(name, value, to: &output)
        }
    }
}
