/// A function that a loop calls at the end of each turn, until it is cancelled.
///
/// Confined to the loop's thread.
public final class EndOfTurnHook {
    private(set) var hook: (() -> Void)?

    init(_ hook: @escaping () -> Void) {
        self.hook = hook
    }

    /// Stops further calls of the hook. May be called from inside the hook itself, and twice.
    public func cancel() {
        hook = nil
    }
}

/// The hooks of one loop in the order of their registration.
struct EndOfTurnHooks {
    private var hooks: [EndOfTurnHook] = []

    mutating func add(_ hook: EndOfTurnHook) {
        hooks.append(hook)
    }

    /// The hooks to call now. Drops the cancelled ones.
    mutating func current() -> [EndOfTurnHook] {
        if hooks.contains(where: { $0.hook == nil }) {
            hooks.removeAll { $0.hook == nil }
        }
        return hooks
    }
}
