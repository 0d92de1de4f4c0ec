import Glibc

/// The limit of open files, which is the limit of connections a process.
enum OpenFiles {
    /// Descriptors that are not connections: the three standard ones, epoll, the interrupt's pipe, and some to spare.
    static let spare = 32

    /// Raises the soft limit to the hard one and checks that `connections` fit under it.
    static func allow(_ connections: Int) throws(Failure) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        guard limit.rlim_cur >= UInt(connections + spare) else {
            throw Failure(
                """
                \(connections) connections need more open files than the \(limit.rlim_cur) that this process may have: \
                raise `ulimit -n`, or spread them over several processes
                """)
        }
    }
}
