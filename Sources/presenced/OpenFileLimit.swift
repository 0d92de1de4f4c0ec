import Foundation

/// The process's limit of open files; each connection uses one.
enum OpenFileLimit {
    /// Raises the soft limit to the hard one.
    ///
    /// - Returns: The limit now in effect.
    @discardableResult
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        let soft = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        return Int(clamping: isRaised ? limit.rlim_max : soft)
    }
}
