import PresenceProtocol

/// A status change as the scripts take it.
package struct StatusArguments {
    /// chosen, text, clearAfter
    package let words: [String]

    package init(_ change: StatusChange) {
        let text =
            switch change.text {
            case .keep: ""
            case .remove: "null"
            case .set(let text): Self.encoded(text)
            }
        words = [change.status.rawValue, text, change.clearAfter.map { String($0) } ?? ""]
    }

    package static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.string(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
