import Glibc
import WebSockets
import Workers

/// A file that is open for reading. Everything but its properties blocks.
final class OpenFile: Sendable {
    let size: Int
    /// In seconds since 1970.
    let modified: Int64
    /// Changes with its content: its size, and its time to the nanosecond.
    let tag: String
    /// Owned; closed in `deinit`.
    private let descriptor: Int32

    /// - Throws: ``FileFailure`` if it cannot be opened, or is no plain file.
    init(_ path: String) throws(FileFailure) {
        // (O_NONBLOCK: a pipe of that name would keep the thread waiting for its writer.)
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            let failure = FileFailure("a file cannot be opened")
            (size, modified, tag) = (0, 0, "")
            throw failure
        }
        size = Int(status.st_size)
        modified = Int64(status.st_mtim.tv_sec)
        let nanoseconds = modified &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        tag = String(size, radix: 16) + "-" + String(nanoseconds, radix: 16)
        guard status.st_mode & S_IFMT == S_IFREG else {
            errno = ENOENT
            throw FileFailure("what is there is no file")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func read(at offset: Int, count: Int) throws(FileFailure) -> [UInt8] {
        try FileFailure.reading(descriptor, at: offset, count: count)
    }
}

/// Reads a part of a file piece by piece, each when the client has taken the one before, on the threads for files.
// @unchecked: confined to the shard's thread, as its connection is; the file alone goes to other threads.
final class FileSource: BodySource, @unchecked Sendable {
    /// In bytes: what a download holds. The kernel's own buffer for a connection has twice as much.
    static let piece = 64 * 1024

    private let jobs: Jobs
    private let socket: SocketID
    private var file: OpenFile?
    private var slot: Transfers.Slot?
    private var rest: Range<Int>

    var length: Int { rest.count }

    init(_ file: OpenFile, _ rest: Range<Int>, _ slot: Transfers.Slot, _ jobs: Jobs, _ socket: SocketID) {
        self.file = file
        self.rest = rest
        self.slot = slot
        self.jobs = jobs
        self.socket = socket
    }

    func read(_ then: @escaping ([UInt8]?) -> Void) {
        guard let file else { return then(nil) }
        let (offset, count) = (rest.lowerBound, min(rest.count, Self.piece))
        do throws(WorkRefusal) {
            try jobs.run(in: .files, for: socket) {
                try? file.read(at: offset, count: count)
            } then: { [self] outcome in
                // A file that has become shorter has not what was announced.
                guard case .success(let piece?) = outcome, piece.count == count else { return then(nil) }
                rest = offset + count..<rest.upperBound
                then(piece)
            }
        } catch {
            then(nil)
        }
    }

    func close() {
        file = nil
        slot = nil
    }
}

/// Gives what is in memory already, piece by piece.
// @unchecked: confined to the shard's thread, as its connection is.
final class FetchedSource: BodySource, @unchecked Sendable {
    private let jobs: Jobs
    private let socket: SocketID
    private var slot: Transfers.Slot?
    private var rest: ArraySlice<UInt8>

    var length: Int { rest.count }

    init(_ rest: ArraySlice<UInt8>, _ slot: Transfers.Slot, _ jobs: Jobs, _ socket: SocketID) {
        self.jobs = jobs
        self.socket = socket
        self.rest = rest
        self.slot = slot
    }

    func read(_ then: @escaping ([UInt8]?) -> Void) {
        let piece = Array(rest.prefix(FileSource.piece))
        rest = rest.dropFirst(piece.count)
        do throws(WorkRefusal) {
            // There is nothing to do, but the answer must not come within the call.
            try jobs.run(in: .files, for: socket) {
            } then: { outcome in
                if case .success = outcome { then(piece) } else { then(nil) }
            }
        } catch {
            then(nil)
        }
    }

    func close() {
        rest = []
        slot = nil
    }
}
