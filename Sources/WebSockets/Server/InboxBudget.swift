import Synchronization

/// How many bytes all connections of a process may hold of what has not come whole: heads and bodies of requests, and
/// messages in several pieces.
///
/// The servers of all loops share one; one number, no lock.
public final class InboxBudget: Sendable {
    /// 0: no limit.
    private let most: Int
    private let held = Atomic(0)

    /// - Parameter most: in bytes; 0 for no limit.
    public init(_ most: Int) { self.most = most }

    /// Room for so many bytes more, to be given back; false if there is none.
    func take(_ bytes: Int) -> Bool {
        let sum = held.wrappingAdd(bytes, ordering: .relaxed).newValue
        guard most > 0, sum > most else { return true }
        give(bytes)
        return false
    }

    func give(_ bytes: Int) { held.wrappingSubtract(bytes, ordering: .relaxed) }
}
