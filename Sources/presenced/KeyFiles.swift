import Glibc
import PresenceCore
import PresenceServer
import Tokens

/// The files that hold keys of tokens, and what they looked like when they were read last.
struct KeyFiles: Sendable {
    private let paths: [String]
    private var looks: [Look?] = []

    /// What changes when a file is written, replaced, or a link to it set elsewhere.
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

    /// Looks at all of them; whether any looks different from the last time. To be asked before they are read, so that
    /// what changes meanwhile is found the next time.
    mutating func haveChanged() -> Bool {
        let before = looks
        looks = paths.map(Self.look)
        return looks != before
    }

    private static func look(at path: String) -> Look? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Look(
            device: status.st_dev, inode: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
    }
}
