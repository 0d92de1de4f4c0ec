import Glibc

/// Why a run ended without what it was meant to show: one sentence for the person who started it.
struct Failure: Error, CustomStringConvertible, Equatable {
    let description: String

    init(_ description: String) { self.description = description }

    /// What a system call that just failed says: `errno` in words.
    static func reason(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }
}
