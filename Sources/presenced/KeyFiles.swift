import Glibc
import PresenceCore
import PresenceServer
import Tokens

/// The files with the keys of tokens, and their state when they were last read.
struct KeyFiles: Sendable {
    private let paths: [String]
    private var looks: [Look?] = []

    /// The attributes that change when a file is written or replaced, or a link to it changes.
    private struct Look: Equatable, Sendable {
        let device: UInt
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    init(_ auth: AuthenticationSettings) {
        paths = auth.keys.map(\.file) + (auth.jwksFile.map { [$0] } ?? [])
    }

    var isEmpty: Bool { paths.isEmpty }

    /// Checks all files, and returns whether any has changed since the last check. To be called before they are read, so that
    /// the next check finds changes made meanwhile.
    mutating func haveChanged() -> Bool {
        let before = looks
        looks = paths.map(Self.fingerprint)
        return looks != before
    }

    private static func fingerprint(of path: String) -> Look? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Look(
            device: status.st_dev, inode: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
    }
}
