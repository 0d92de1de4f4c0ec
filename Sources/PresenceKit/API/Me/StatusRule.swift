import PresenceProtocol

/// What a chosen status may be: the server's own rules, so that what it would refuse is refused before it is kept or sent.
public enum StatusRule {
    /// The longest text, in characters as people count them; it also has at most 1 KiB of UTF-8.
    public static let maximumCharacters = StatusText.maximumCharacters
    /// After how long a status may be cleared: 1 s to 30 days. Fractions of a millisecond are dropped.
    public static let clearing: ClosedRange<Duration> = .seconds(1) ... .seconds(30 * 86_400)

    /// Looks at a choice before it is made, as ``PresenceClient/setStatus(_:text:clearAfter:)`` does.
    ///
    /// - Throws: `validationFailed` with the field `text` or `clearAfter`.
    public static func check(text: Change<String> = .keep, clearAfter: Duration? = nil) throws(PresenceError) {
        if case .set(let text) = text, !StatusText.isValid(text) {
            throw PresenceError(
                .validationFailed,
                "text must be at most \(maximumCharacters) characters, without control characters", field: "text")
        }
        // Of a longer time the milliseconds may not even be countable.
        if let clearAfter, !clearing.contains(clearAfter) {
            throw PresenceError(.validationFailed, "clearAfter must be 1 second to 30 days", field: "clearAfter")
        }
    }
}
