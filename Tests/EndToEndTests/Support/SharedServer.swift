import Testing

/// Gives all tests of a suite one server, started before the first test and stopped after the last.
struct SharedServer: SuiteTrait, TestScoping {
    let settings: [String: String]

    @TaskLocal static var current: Presenced?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let server = try await Presenced(settings: settings)
        try await Self.$current.withValue(server, operation: function)
        try await server.stop()
    }
}

extension Trait where Self == SharedServer {
    static func sharedServer(_ settings: [String: String]) -> Self { Self(settings: settings) }
}
