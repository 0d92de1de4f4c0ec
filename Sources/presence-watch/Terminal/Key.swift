/// What a key means here.
enum Key: Hashable, Sendable {
    case up, down, pageUp, pageDown, home, end, redraw, quit
    /// One that means nothing here.
    case other
}
