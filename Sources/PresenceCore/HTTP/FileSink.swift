import Glibc
import WebSockets
import Workers

/// Writes a body to a file, piece by piece, on the threads for files.
///
/// While one piece is written, the next one is collected; when that is full too, the connection is not read. So an
/// upload uses the memory of at most two pieces and a read of 16 KiB.
// @unchecked: confined to the shard's thread, as its connection is; only the file is passed to other threads.
final class FileSink: BodySink, @unchecked Sendable {
    /// In bytes: some 100 jobs for the largest file that phones send, and little memory even for hundreds of uploads.
    static let piece = 64 * 1024

    private let jobs: Jobs
    private let exchange: HTTPExchangeID
    private var file: UploadedFile?
    /// Kept while the body is received and written.
    private var slot: Transfers.Slot?
    private var gathered: [UInt8] = []
    private var written = 0
    private var isWriting = false
    /// Accepts nothing until a piece is written.
    private var isBehind = false
    private var failure: Failure?
    private var done: ((Result<UploadedFile, Failure>) -> Void)?
    private let resume: (HTTPExchangeID) -> Void
    /// Rejects the rest of the body.
    private let fail: (HTTPExchangeID, Failure) -> Void

    enum Failure: Error {
        case file(FileFailure)
        case work(WorkRefusal)
    }

    init(
        _ file: UploadedFile, _ slot: Transfers.Slot, _ jobs: Jobs, _ exchange: HTTPExchangeID,
        resume: @escaping (HTTPExchangeID) -> Void, fail: @escaping (HTTPExchangeID, Failure) -> Void
    ) {
        self.file = file
        self.slot = slot
        self.jobs = jobs
        self.exchange = exchange
        self.resume = resume
        self.fail = fail
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard file != nil, failure == nil else { return true }
        gathered += bytes
        slot?.move(bytes.count)
        if gathered.count >= Self.piece { write() }
        isBehind = gathered.count >= Self.piece
        return !isBehind
    }

    func cancel() {
        file = nil
        slot = nil
        gathered = []
        done = nil
    }

    /// The body is complete: calls `done` once it is written, unless the connection closes before.
    func finish(_ done: @escaping (Result<UploadedFile, Failure>) -> Void) {
        self.done = done
        writeNext()
    }

    private func writeNext() {
        guard let file, !isWriting else { return }
        if let failure {
            let done = done
            cancel()
            return done?(.failure(failure)) ?? fail(exchange, failure)
        }
        if gathered.count >= Self.piece || done != nil && !gathered.isEmpty { return write() }
        guard let done else { return }
        cancel()
        done(.success(file))
    }

    private func write() {
        guard let file, !isWriting else { return }
        let (piece, offset) = (gathered, written)
        gathered = []
        gathered.reserveCapacity(Self.piece)
        isWriting = true
        do throws(WorkRefusal) {
            try jobs.run(in: .files, for: exchange.socket) {
                Result { () throws(FileFailure) in try file.write(piece, at: offset) }
            } then: { [self] outcome in
                isWriting = false
                written += piece.count
                switch outcome {
                case .success(.success): break
                case .success(.failure(let fault)): failure = .file(fault)
                case .failure(let refusal): failure = .work(refusal)
                }
                writeNext()
                guard isBehind, failure == nil else { return }
                isBehind = false
                resume(exchange)
            }
        } catch {
            isWriting = false
            failure = .work(error)
            writeNext()
        }
    }
}
