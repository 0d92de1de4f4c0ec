import Glibc
import PresenceCore

/// Pictures as files of this machine, or of one that it has mounted: in 256 folders by the first two digits of their names.
struct PhotoFolder: PhotoStore {
    let path: String

    var pool: WorkerPlan { .files }

    func path(of file: PhotoFile) -> String { part(file.photo.text.prefix(2)) + "/" + file.name }

    private func part(_ digits: some StringProtocol) -> String { path + "/" + digits }

    func keep(_ photo: [UInt8], _ thumbnail: [UInt8], as name: PhotoName) throws(PhotoStoreFailure) {
        let part = part(name.text.prefix(2))
        for folder in [path, part] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw PhotoStoreFailure("a folder for pictures cannot be made", code: errno)
            }
        }
        do throws(PhotoStoreFailure) {
            try write(photo, to: path(of: PhotoFile(name, isThumbnail: false)))
            try write(thumbnail, to: path(of: PhotoFile(name, isThumbnail: true)))
        } catch {
            try? remove(name)
            throw error
        }
        for folder in [part, path] {
            let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw PhotoStoreFailure("a folder for pictures cannot be opened", code: errno)
            }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else {
                throw PhotoStoreFailure("a folder for pictures cannot be written", code: errno)
            }
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(PhotoStoreFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw PhotoStoreFailure("a picture cannot be kept", code: errno) }
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, bytes.count - done) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw PhotoStoreFailure("a picture cannot be written", code: errno) }
            done += count
        }
        guard fsync(descriptor) == 0 else { throw PhotoStoreFailure("a picture cannot be written", code: errno) }
    }

    func remove(_ name: PhotoName) throws(PhotoStoreFailure) {
        var code: Int32 = 0
        for isThumbnail in [false, true] {
            if unlink(path(of: PhotoFile(name, isThumbnail: isThumbnail))) != 0, errno != ENOENT { code = errno }
        }
        guard code == 0 else { throw PhotoStoreFailure("a picture cannot be removed", code: code) }
    }

    /// How old a file is, is measured by this machine's clock.
    func names(in part: Int) -> [PhotoName] {
        let folder = self.part(PhotoSweep.digits(of: part))
        let now = Int64(time(nil))
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: Set<PhotoName> = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let file = PhotoFile(name), !names.contains(file.photo) else { continue }
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0, Int64(status.st_mtim.tv_sec) + PhotoSweep.grace < now else {
                continue
            }
            names.insert(file.photo)
        }
        return names.sorted { $0.text < $1.text }
    }

    private var markPath: String { path + "/" + PhotoSweep.markName }

    func mark() throws(PhotoStoreFailure) -> String? {
        let descriptor = open(markPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw PhotoStoreFailure("the mark of the pictures cannot be opened", code: errno)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw PhotoStoreFailure("the mark of the pictures cannot be read", code: errno) }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func setMark(_ mark: String) throws(PhotoStoreFailure) {
        // The first upload makes the folder.
        guard access(path, F_OK) == 0 else { return }
        let new = "\(markPath).\(getpid())"
        unlink(new)
        try write(Array(mark.utf8), to: new)
        guard rename(new, markPath) == 0 else {
            throw PhotoStoreFailure("the mark of the pictures cannot be written", code: errno)
        }
    }

    /// The first upload makes it, or finds that it cannot be made.
    func check() {}

    func serve(
        _ file: PhotoFile, as content: HTTPContent, on call: HTTPCall, failed: @escaping (PhotoStoreFailure) -> Void
    ) {
        call.serve(file: path(of: file), as: content)
    }
}
