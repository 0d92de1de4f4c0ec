import Glibc

/// How much is free on the file system of a folder, and how much of that is kept for what must go on when users' files have filled
/// the rest: the log of the server's own Redis above all, whose failure stops every change.
public struct DiskRoom: Sendable, Equatable {
    /// In bytes, for users other than root.
    public let free: Int
    /// In bytes: 5 % of the file system, from 1 GiB to 16 GiB; of a small one a quarter, so that it can be used at all.
    public let reserve: Int

    /// - Parameter path: A folder or a file. `nil` if it cannot be looked at. Blocks if the file system does.
    public init?(of path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let unit = Int(status.f_frsize)
        self.init(size: Int(clamping: status.f_blocks) * unit, free: Int(clamping: status.f_bavail) * unit)
    }

    package init(size: Int, free: Int) {
        let gigabyte = 1_073_741_824
        self.free = free
        reserve = min(max(gigabyte, size / 20), 16 * gigabyte, size / 4)
    }

    /// Whether so many bytes more of users' files leave the reserve whole.
    public func hasRoom(for bytes: Int) -> Bool { free - bytes >= reserve }

    /// Whether a mail may be written into the outbox: what is sent without any token leaves Redis half of the reserve.
    public var hasRoomForMails: Bool { free >= reserve / 2 }
}
