/// The meaning of a key.
enum Key: Hashable, Sendable {
    case up, down, pageUp, pageDown, home, end, redraw, quit
    /// A key without a meaning here.
    case other
}
