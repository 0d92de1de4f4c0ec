import Synchronization

/// A `Mutex` whose order ThreadSanitizer sees.
///
/// When threads contend, the kernel hands a `Mutex` over (a futex). ThreadSanitizer does not see that, and reports
/// races where there are none. A release at the end and an acquire at the beginning of each critical section express
/// the same order in its terms. On x86 and arm64 they cost a plain store and load.
package struct Locked<Value>: ~Copyable {
    private let mutex: Mutex<Value>
    private let order = Atomic(false)

    package init(_ value: sending Value) {
        mutex = Mutex(value)
    }

    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            _ = order.load(ordering: .acquiring)
            defer { order.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}
