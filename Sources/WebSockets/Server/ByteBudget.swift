import Synchronization

/// A limit on the bytes that all connections of a process may hold for one purpose, such as incomplete requests.
///
/// The servers of all loops share one: an atomic number without a lock.
public final class ByteBudget: Sendable {
    /// 0: no limit.
    private let most: Int
    private let sum = Atomic(0)

    /// - Parameter most: in bytes; 0 for no limit.
    public init(_ most: Int) { self.most = most }

    /// In bytes.
    public var held: Int { sum.load(ordering: .relaxed) }

    /// Reserves this many bytes more, to be released with `release`; false if there is no room.
    func reserve(_ bytes: Int) -> Bool {
        let sum = sum.wrappingAdd(bytes, ordering: .relaxed).newValue
        guard most > 0, sum > most else { return true }
        release(bytes)
        return false
    }

    /// Counts bytes without a check; negative numbers release bytes.
    func add(_ bytes: Int) { sum.wrappingAdd(bytes, ordering: .relaxed) }

    func release(_ bytes: Int) { sum.wrappingSubtract(bytes, ordering: .relaxed) }
}
