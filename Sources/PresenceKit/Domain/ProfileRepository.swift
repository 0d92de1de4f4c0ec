import Foundation

/// The parts of the signed-in user's profile that belong to accounts: username, picture, first form.
public protocol ProfileRepository: Sendable {
    /// Observes the signed-in user's name, `nil` without one: the current value at once, then the newest after each
    /// change.
    var ownUsernames: AsyncStream<String?> { get }
    /// Whether a name can be claimed now.
    func isAvailable(_ username: String) async throws -> Bool
    /// Claims a name for the signed-in user, and releases the former one.
    ///
    /// - Throws: `validationFailed` with the field `username` if another user has it.
    func take(_ username: String) async throws
    /// Releases the signed-in user's name; does nothing if there is none.
    func release() async throws

    /// Uploads a picture (JPEG or PNG) and sets it in the profile. The upload starts at once. Cancelling the iterating
    /// task or dropping the stream cancels it, and the former picture stays.
    ///
    /// Throws `validationFailed` with the field `photo` for an unusable picture. After any other error the call can be
    /// repeated.
    func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<Upload<Photo>, any Error>
    /// Removes the picture from the profile; does nothing if there is none.
    func removePhoto() async throws

    /// Marks the form as completed, for all the user's devices. May be repeated.
    func completeSetup() async throws
}
