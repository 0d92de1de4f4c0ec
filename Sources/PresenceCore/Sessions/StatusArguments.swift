import PresenceProtocol

/// A status change as the scripts take it.
package struct StatusArguments {
    let chosen: String
    let text: String
    let clearAfter: String

    package init(_ change: StatusChange) {
        text =
            switch change.text {
            case .keep: ""
            case .remove: "null"
            case .set(let text): JSONWriter.encoded(text)
            }
        chosen = change.status.rawValue
        clearAfter = change.clearAfter.scriptText
    }
}

extension JSONWriter {
    /// A string of JSON, in its quotes.
    package static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        string(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
