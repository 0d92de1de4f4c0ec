import Glibc

/// The reason why a run ended without a result: one sentence for the person who started it.
struct Failure: Error, CustomStringConvertible, Equatable {
    let description: String

    init(_ description: String) { self.description = description }

    /// The error text of a system call that just failed, from `errno`.
    static func reason(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }
}
