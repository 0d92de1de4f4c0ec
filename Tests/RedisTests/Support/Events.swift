/// The events so far, in order, and the tasks that wait for the next ones. Lives in an actor.
struct Events<Event: Sendable> {
    private var unseen: [Event] = []
    private var waiter: (isWanted: (Event) -> Bool, continuation: CheckedContinuation<Event, Never>)?

    mutating func add(_ event: Event) {
        unseen.append(event)
        serve()
    }

    /// Resumes `continuation` with the first matching event from here on; earlier ones are skipped.
    mutating func wait(for isWanted: @escaping (Event) -> Bool, _ continuation: CheckedContinuation<Event, Never>) {
        precondition(waiter == nil)
        waiter = (isWanted, continuation)
        serve()
    }

    private mutating func serve() {
        guard let (isWanted, continuation) = waiter, let index = unseen.firstIndex(where: isWanted) else { return }
        let event = unseen[index]
        unseen.removeFirst(index + 1)
        waiter = nil
        continuation.resume(returning: event)
    }
}
