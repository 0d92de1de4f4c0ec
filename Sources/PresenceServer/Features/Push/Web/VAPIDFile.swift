import Foundation
import Installation

/// `vapid.pem` in the data directory, of mode 0600. Its functions block: they are for threads of a pool.
struct VAPIDFile: Sendable {
    let directory: String

    /// The key in the file. Without a file it makes one; if several servers do that at once, all return the same key.
    ///
    /// - Throws: ``StartFailure`` if the file cannot be read or written, or has no such key.
    func key() throws(StartFailure) -> VAPIDKey {
        let path = try path()
        if access(path, F_OK) != 0 {
            guard let made = VAPIDKey() else { throw StartFailure("there are no random numbers for a VAPID key") }
            try write(made) { link($0, path) == 0 || errno == EEXIST }
        }
        guard !PlainFile.isExposed(path) else {
            throw StartFailure("\(path) can be read by every user of this machine: chmod 600 is needed")
        }
        guard let key = VAPIDKey(pem: String(decoding: try PlainFile.read(path), as: UTF8.self)) else {
            throw StartFailure("\(path) is not a private key on P-256 in PEM")
        }
        return key
    }

    /// Puts a key in the place of the file's.
    func store(_ key: VAPIDKey) throws(StartFailure) {
        let path = try path()
        guard (try? PlainFile.read(path)) != Data(key.pem.utf8) else { return }
        try write(key) { rename($0, path) == 0 }
    }

    private func path() throws(StartFailure) -> String { try DataDirectory(directory).file("vapid.pem") }

    /// - Parameter place: Gives a whole file its name.
    private func write(_ key: VAPIDKey, _ place: (String) -> Bool) throws(StartFailure) {
        let draft = try path() + ".\(getpid()).\(UInt32.random(in: .min ... .max))"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StartFailure("\(draft) cannot be written: \(String(cString: strerror(errno)))")
        }
        defer { unlink(draft) }
        let text = Array(key.pem.utf8)
        let isWritten = Foundation.write(descriptor, text, text.count) == text.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, place(draft) else {
            throw StartFailure("\(draft) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}
