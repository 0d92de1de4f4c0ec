/// What happened, in order, and who waits for what happens next. Lives in an actor.
struct Events<Event: Sendable> {
    private var unseen: [Event] = []
    private var waiter: (isWanted: (Event) -> Bool, continuation: CheckedContinuation<Event, Never>)?

    mutating func add(_ event: Event) {
        unseen.append(event)
        serve()
    }

    /// Resumes `continuation` with the first event from here on that is wanted; what comes before it is passed over.
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
