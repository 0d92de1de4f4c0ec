/// Stores whether a user has completed the first form.
public protocol SetupRepository: Sendable {
    /// Marks the form as completed, for all the user's devices. May be repeated.
    func completeSetup() async throws
}
