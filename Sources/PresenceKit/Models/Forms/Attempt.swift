/// Makes an attempt of a form. Returns why it failed, as a text for users; `nil` after a success, and if its task was
/// cancelled.
@MainActor
package func failure(of attempt: @MainActor () async throws -> Void) async -> String? {
    do {
        try await attempt()
    } catch is CancellationError {
    } catch {
        return error.localizedDescription
    }
    return nil
}
