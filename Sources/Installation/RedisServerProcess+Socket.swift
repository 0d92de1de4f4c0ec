import Foundation
import Redis

extension RedisServerProcess {
    /// The socket's path: in the data directory. If that path is too long for the kernel or has characters that a Redis
    /// address cannot contain, it is in a directory in `/tmp`, always the same one for a data directory.
    ///
    /// - Throws: ``StartFailure`` if that directory belongs to another user.
    package static func socketPath(in directory: DataDirectory) throws(StartFailure) -> String {
        let usual = directory.file("redis.sock")
        let isPlain = usual.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !usual.contains { "?@%#".contains($0) }
        if isPlain, usual.utf8.count <= RedisEndpoint.maximumPathLength { return usual }

        let short = "/tmp/presence-\(geteuid())-\(String(hash(directory.path), radix: 36))"
        guard mkdir(short, 0o700) == 0 || errno == EEXIST else {
            throw StartFailure("\(short) cannot be created: \(String(cString: strerror(errno)))")
        }
        // Every user can write to /tmp: an existing entry must be a directory that only we can enter.
        var status = stat()
        guard lstat(short, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else {
            throw StartFailure(
                "\(short) is not a directory of our own (mode 0700): remove it, or choose a shorter --data-dir")
        }
        return short + "/redis.sock"
    }

    /// FNV-1a: the same in every process, unlike Swift's own hash.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
