import Synchronization

/// How many bytes all connections of a process may hold of something, such as of requests that have not come whole.
///
/// The servers of all loops share one; one number, no lock.
public final class ByteBudget: Sendable {
    /// 0: no limit.
    private let most: Int
    private let sum = Atomic(0)

    /// - Parameter most: in bytes; 0 for no limit.
    public init(_ most: Int) { self.most = most }

    /// In bytes.
    public var held: Int { sum.load(ordering: .relaxed) }

    /// Room for so many bytes more, to be given back; false if there is none.
    func take(_ bytes: Int) -> Bool {
        let sum = sum.wrappingAdd(bytes, ordering: .relaxed).newValue
        guard most > 0, sum > most else { return true }
        give(bytes)
        return false
    }

    /// Counts bytes that are held in any case; fewer, if it is negative.
    func add(_ bytes: Int) { sum.wrappingAdd(bytes, ordering: .relaxed) }

    func give(_ bytes: Int) { sum.wrappingSubtract(bytes, ordering: .relaxed) }
}
