// Errors of reading or changing users.
extension PresenceError {
    /// No user with this id exists, or may be seen.
    public static func userNotFound(_ id: String) -> PresenceError {
        PresenceError(.notFound, "no user \(id)", sentence: Sentence.userNotFound.text())
    }

    /// A value is invalid: the member, and the reason as a text for users.
    public static func invalid(field: String, reason: String) -> PresenceError {
        PresenceError(
            .validationFailed, field: field, sentence: reason, recovery: Sentence.changeAndTryAgain.text())
    }

    /// The same error as an error of an invalid value: with this member, and with its own reason, message and text for users.
    package func invalidating(_ field: String) -> PresenceError {
        var error = PresenceError.invalid(field: field, reason: localizedDescription)
        (error.reason, error.message) = (reason, message)
        return error
    }

    /// The user could not be read: the reason as a text for users.
    package static func fetchFailed(reason: String) -> PresenceError {
        PresenceError(.notConnected, reason, recovery: Sentence.tryAgain.text()).while(
            Sentence.loadFailed.text(), reason)
    }

    /// The change could not be made: the reason as a text for users.
    package static func updateFailed(reason: String, outcomeUnknown: Bool) -> PresenceError {
        PresenceError(.notConnected, reason, outcomeUnknown: outcomeUnknown, recovery: Sentence.tryAgain.text())
            .while(Sentence.saveFailed.text(), reason)
    }

    init(reading error: PresenceError, _ id: String) {
        self = error.code == .invalidID ? .userNotFound(id) : error.whileReading
    }

    init(writing error: PresenceError) {
        let isInvalid = error.code == .validationFailed && error.field != nil
        self = isInvalid ? error : error.while(Sentence.saveFailed.text())
    }

    var whileReading: PresenceError { self.while(Sentence.loadFailed.text()) }

    /// The same error, with the failed operation put before its text for users.
    private func `while`(_ operation: String, _ reason: String? = nil) -> PresenceError {
        var error = self
        if sentence == nil { error.recovery = recovery ?? advice }
        error.sentence = "\(operation) \(reason ?? localizedDescription)"
        return error
    }
}
