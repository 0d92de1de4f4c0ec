import PresenceProtocol

extension ChosenStatus {
    /// The server's rules for a chosen status, so that the client rejects an invalid choice before it stores or sends it.
    public enum Rule {
        /// The longest text, in user-perceived characters. It may also have at most 1 KiB of UTF-8.
        public static let maximumCharacters = StatusText.maximumCharacters
        /// The allowed delays before a status is cleared: 1 s to 30 days. Fractions of a millisecond are dropped.
        public static let clearing: ClosedRange<Duration> = .seconds(1) ... .seconds(30 * 86_400)

        /// Validates a choice, as ``PresenceClient/setStatus(_:text:clearAfter:)`` does.
        ///
        /// - Throws: `validationFailed` with the field `text` or `clearAfter`.
        public static func check(text: Change<String> = .keep, clearAfter: Duration? = nil) throws(PresenceError) {
            if case .set(let text) = text, !StatusText.isValid(text) {
                throw PresenceError(
                    .validationFailed,
                    "text must be at most \(maximumCharacters) characters, without control characters", field: "text")
            }
            // Checked before the conversion, because the milliseconds of a longer time may overflow.
            if let clearAfter, !clearing.contains(clearAfter) {
                throw PresenceError(.validationFailed, "clearAfter must be 1 second to 30 days", field: "clearAfter")
            }
        }
    }
}
