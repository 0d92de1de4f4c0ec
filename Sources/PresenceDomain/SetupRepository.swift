/// Where it is noted that a user has been through the first form.
public protocol SetupRepository: Sendable {
    /// Notes it, for all the user's devices. Doing it twice is no error.
    func completeSetup() async throws
}
