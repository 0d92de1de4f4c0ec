import Glibc

/// The free space on a folder's file system, and the part of this space that is reserved. Users' files may fill the
/// rest. The reserve is above all for the log of the server's own Redis: if Redis cannot write its log, every change
/// fails.
public struct DiskRoom: Sendable, Equatable {
    /// In bytes, for users other than root.
    public let free: Int
    /// In bytes: 5 % of the file system, but at least 1 GiB and at most 16 GiB. A small file system has a reserve of a
    /// quarter, so that it can be used at all.
    public let reserve: Int

    /// - Parameter path: A folder or a file. The result is `nil` if its file system cannot be read. The call blocks as
    ///   long as the file system does.
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

    /// Whether users' files may take `bytes` more without touching the reserve.
    public func hasRoom(for bytes: Int) -> Bool { free - bytes >= reserve }

    /// Whether a mail may be written into the outbox. Unauthenticated requests write mails, so they leave half of the
    /// reserve to Redis.
    public var hasRoomForMails: Bool { free >= reserve / 2 }
}
