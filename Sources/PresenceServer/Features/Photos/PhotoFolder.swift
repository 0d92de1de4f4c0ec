import Glibc
import PresenceProtocol

/// Where pictures are: two files each, in 256 folders by the first two digits of their names. Everything here blocks.
struct PhotoFolder: Sendable {
    static let parts = 256
    /// What was made longer ago than this, and belongs to nobody, is not about to.
    static let grace: Int64 = 600

    let path: String

    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ what: String, code: Int32 = errno) { description = "\(what): \(String(cString: strerror(code)))" }
    }

    func path(of file: PhotoFile) -> String { part(file.photo.text.prefix(2)) + "/" + file.name }

    private func part(_ digits: some StringProtocol) -> String { path + "/" + digits }

    /// Keeps a picture and its thumbnail. They are safe on the disk when it returns.
    func keep(_ photo: [UInt8], _ thumbnail: [UInt8], as name: PhotoName) throws(Failure) {
        let part = part(name.text.prefix(2))
        for folder in [path, part] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw Failure("a folder for pictures cannot be made")
            }
        }
        do throws(Failure) {
            try write(photo, to: path(of: PhotoFile(name, isThumbnail: false)))
            try write(thumbnail, to: path(of: PhotoFile(name, isThumbnail: true)))
        } catch {
            remove(name)
            throw error
        }
        for folder in [part, path] {
            let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Failure("a folder for pictures cannot be opened") }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw Failure("a folder for pictures cannot be written") }
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Failure("a picture cannot be kept") }
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, bytes.count - done) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure("a picture cannot be written") }
            done += count
        }
        guard fsync(descriptor) == 0 else { throw Failure("a picture cannot be written") }
    }

    func remove(_ name: PhotoName) {
        for isThumbnail in [false, true] { unlink(path(of: PhotoFile(name, isThumbnail: isThumbnail))) }
    }

    /// The names in one of the folders that have been there for a while.
    ///
    /// - Parameter now: In seconds since 1970, by this machine's clock.
    func names(in part: Int, at now: Int64) -> [PhotoName] {
        let folder = self.part((part < 16 ? "0" : "") + String(part, radix: 16))
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: Set<PhotoName> = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let file = PhotoFile(name), !names.contains(file.photo) else { continue }
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0, Int64(status.st_mtim.tv_sec) + Self.grace < now else {
                continue
            }
            names.insert(file.photo)
        }
        return names.sorted { $0.text < $1.text }
    }
}
