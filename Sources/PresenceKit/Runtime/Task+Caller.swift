extension Task where Failure: Error {
    /// The result of this task, which is cancelled with the caller's.
    package var resultForCaller: Result<Success, Failure> {
        get async {
            await withTaskCancellationHandler {
                await result
            } onCancel: {
                cancel()
            }
        }
    }
}
