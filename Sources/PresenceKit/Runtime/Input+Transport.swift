extension Input {
    init(_ event: TransportEvent, of attempt: Attempt) {
        switch event {
        case .opened: self = .opened(attempt)
        case .received(let text): self = .received(attempt, text)
        case .alive: self = .alive(attempt)
        case .ended(let end): self = .ended(attempt, Ending(end))
        }
    }
}
