import Glibc
import Installation
import PresenceCore

/// Files on this machine or on a mounted file system, in 256 folders named after the first two digits of the files' names.
struct FileFolder: FileStore {
    let path: String

    private static let piece = 256 * 1024

    var pool: WorkerPlan { .files }
    var isRemote: Bool { false }

    func path(of file: StoredFile) -> String { part(file.name.text.prefix(2)) + "/" + file.text }

    private func part(_ digits: some StringProtocol) -> String { path + "/" + digits }

    func store(_ parts: [StoredPart], as name: StoredName) throws(FileStoreFailure) {
        let part = part(name.text.prefix(2))
        for folder in [path, part] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw FileStoreFailure("a folder for files cannot be made", code: errno)
            }
        }
        // An upload is already on the data directory's disk. Generated files, and copies to another disk, need room
        // here.
        guard DiskRoom(of: part)?.hasRoom(for: 0) != false else { throw FileStoreFailure(FileFailure.noRoom) }
        do throws(FileStoreFailure) {
            for part in parts { try write(part.content, to: path(of: StoredFile(name, part.kind))) }
        } catch {
            try? remove(name)
            throw error
        }
        for folder in [part, path] {
            let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw FileStoreFailure("a folder for files cannot be opened", code: errno)
            }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else {
                throw FileStoreFailure("a folder for files cannot be written", code: errno)
            }
        }
    }

    private func write(_ content: StoredPart.Content, to path: String) throws(FileStoreFailure) {
        guard case .upload(let file) = content else {
            guard case .bytes(let bytes) = content else { return }
            return try write(bytes, to: path)
        }
        do throws(FileFailure) {
            try file.store(at: path)
        } catch {
            // The folder is on another file system than the data directory.
            guard error.code == EXDEV else { throw FileStoreFailure(error) }
            try copy(file, to: path)
        }
    }

    private func copy(_ file: UploadedFile, to path: String) throws(FileStoreFailure) {
        try writing(to: path) { (descriptor) throws(FileStoreFailure) in
            for offset in stride(from: 0, to: file.size, by: Self.piece) {
                try Self.append(try Self.read(file, at: offset), to: descriptor)
            }
        }
    }

    private static func read(_ file: UploadedFile, at offset: Int) throws(FileStoreFailure) -> [UInt8] {
        do throws(FileFailure) {
            return try file.read(at: offset, count: min(piece, file.size - offset))
        } catch {
            throw FileStoreFailure(error)
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(FileStoreFailure) {
        try writing(to: path) { (descriptor) throws(FileStoreFailure) in try Self.append(bytes, to: descriptor) }
    }

    /// Creates a file, lets `write` fill it, and returns once it is on the disk.
    private func writing(
        to path: String, _ write: (Int32) throws(FileStoreFailure) -> Void
    ) throws(FileStoreFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileStoreFailure("a file cannot be kept", code: errno) }
        defer { close(descriptor) }
        try write(descriptor)
        guard fsync(descriptor) == 0 else { throw FileStoreFailure("a file cannot be written", code: errno) }
    }

    private static func append(_ bytes: [UInt8], to descriptor: Int32) throws(FileStoreFailure) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, bytes.count - done) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileStoreFailure("a file cannot be written", code: errno) }
            done += count
        }
    }

    func read(_ file: StoredFile) throws(FileStoreFailure) -> [UInt8]? {
        let descriptor = open(path(of: file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FileStoreFailure("a file cannot be opened", code: errno)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: Self.piece)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileStoreFailure("a file cannot be read", code: errno) }
            guard count > 0 else { return bytes }
            bytes += piece[..<count]
        }
    }

    func remove(_ name: StoredName) throws(FileStoreFailure) {
        var code: Int32 = 0
        for kind in StoredFile.Kind.allCases {
            if unlink(path(of: StoredFile(name, kind))) != 0, errno != ENOENT { code = errno }
        }
        guard code == 0 else { throw FileStoreFailure("a file cannot be removed", code: code) }
    }

    /// The age of files is measured by this machine's clock.
    func names(in part: Int) -> [StoredName] {
        let folder = self.part(FileSweep.digits(of: part))
        let now = Int64(time(nil))
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: Set<StoredName> = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let file = StoredFile(name), !names.contains(file.name) else { continue }
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0, Int64(status.st_mtim.tv_sec) + FileSweep.grace < now else {
                continue
            }
            names.insert(file.name)
        }
        return names.sorted { $0.text < $1.text }
    }

    private var markPath: String { path + "/" + FileSweep.markName }

    func mark() throws(FileStoreFailure) -> String? {
        let descriptor = open(markPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FileStoreFailure("the mark of the files cannot be opened", code: errno)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw FileStoreFailure("the mark of the files cannot be read", code: errno) }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func setMark(_ mark: String) throws(FileStoreFailure) {
        // The first upload creates the folder.
        guard access(path, F_OK) == 0 else { return }
        let new = "\(markPath).\(getpid())"
        unlink(new)
        try write(Array(mark.utf8), to: new)
        guard rename(new, markPath) == 0 else {
            throw FileStoreFailure("the mark of the files cannot be written", code: errno)
        }
    }

    /// The first upload creates the folder; its parent must exist.
    func check() throws(FileStoreFailure) {
        var status = stat()
        var folder = path[...]
        while folder.count > 1, folder.last == "/" { folder.removeLast() }
        if stat(path, &status) != 0, errno == ENOENT, let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
        }
        // The trailing slash makes `access` fail for anything but a folder.
        guard access(folder + "/", R_OK | W_OK | X_OK) == 0 else {
            throw FileStoreFailure("the folder \(folder.isEmpty ? "/" : folder) cannot be used", code: errno)
        }
    }

    func serve(
        _ file: StoredFile, of size: Int?, as content: HTTPContent, on call: HTTPCall,
        failed: @escaping (FileStoreFailure) -> Void
    ) {
        call.serve(file: path(of: file), as: content)
    }
}

extension FileStoreFailure {
    init(_ failure: FileFailure) { self.init("\(failure)") }
}
