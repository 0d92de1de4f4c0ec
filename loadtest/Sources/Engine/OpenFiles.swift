import Glibc

/// The limit of open files, which limits the connections of a process.
enum OpenFiles {
    /// Descriptors that are not connections: the three standard ones, epoll, the interrupt's pipe, and some to spare.
    static let spare = 32

    /// The number of connections under the limit, after the soft limit is raised to the hard one.
    static var room: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return max(0, Int(clamping: limit.rlim_cur) - spare)
    }

    /// Checks that `connections` fit under the limit.
    static func allow(_ connections: Int) throws(Failure) {
        let room = room
        guard room >= connections else {
            throw Failure(
                """
                \(connections) connections and \(spare) other files are more open files than the \(room + spare) that this \
                process may have: raise `ulimit -n`, or spread them over several processes
                """)
        }
    }
}
