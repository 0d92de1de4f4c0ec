import PresenceProtocol
import WebSockets
import Workers

/// Answers with content that is elsewhere, such as in storage on another machine, a piece at a time.
extension HTTPCall {
    /// Answers with content that is fetched in pieces, each when the client has taken the one before; with conditions and ranges,
    /// as files have them. 404 if the first piece is not there, 503 if it cannot be had. Beyond `limits.downloads` of longer ones
    /// the answer is 503.
    ///
    /// - Parameters:
    ///   - length: Of the whole content, in bytes.
    ///   - piece: The most bytes that are fetched at once, which a slow client keeps in memory.
    ///   - pool: Whose threads fetch.
    ///   - read: Fetches a part, all of it; `nil` if there is no such content. Blocks.
    ///   - failed: Called on the loop for each failure; the call is answered, or its connection broken, already.
    package func serve<Failure: Error>(
        length: Int, inPiecesOf piece: Int, as content: HTTPContent, from pool: WorkerPlan,
        read: @escaping @Sendable (Range<Int>) -> Result<[UInt8]?, Failure>, failed: @escaping (Failure) -> Void
    ) {
        let selection = HTTPConditions(request).selection(length: length, tag: content.tag, modified: nil)
        var response = content.response(selection, length: length, tag: content.tag, modified: nil)
        let range = selection.range(of: length)
        guard request.method != "HEAD", !range.isEmpty else {
            if request.method == "HEAD" { response.source = AnnouncedBody(length: range.count) }
            return respond(response)
        }
        let first = range.prefix(piece)
        let head = response
        work(pool) {
            read(first)
        } then: { result in
            var response = head
            switch result {
            case .success(let bytes?):
                response.body = bytes
                guard first.upperBound < range.upperBound else { return respond(response) }
                guard let slot = api.transfers.beginDownload() else {
                    return respond(api.busy(.downloads, "too many files are being sent: try again later"))
                }
                response.source = PieceSource(
                    first.upperBound..<range.upperBound, piece, slot, shard.jobs, pool, exchange.socket, read: read,
                    failed: failed)
                respond(response)
            case .success(nil): refuse(404, .notFound, "there is no such file")
            case .failure(let failure):
                refuse(503, .init(code: .unavailable, message: "the file cannot be had now", retryAfter: 5_000))
                failed(failure)
            }
        }
    }
}

/// Fetches a part of a content piece by piece, each when the client has taken the one before.
// @unchecked: confined to the shard's thread, as its connection is; `read` alone goes to other threads.
private final class PieceSource<Failure: Error>: BodySource, @unchecked Sendable {
    private let piece: Int
    private let jobs: Jobs
    private let pool: WorkerPlan
    private let socket: SocketID
    private let fetch: @Sendable (Range<Int>) -> Result<[UInt8]?, Failure>
    private let failed: (Failure) -> Void
    private var slot: Transfers.Slot?
    private var rest: Range<Int>

    var length: Int { rest.count }

    init(
        _ rest: Range<Int>, _ piece: Int, _ slot: Transfers.Slot, _ jobs: Jobs, _ pool: WorkerPlan, _ socket: SocketID,
        read: @escaping @Sendable (Range<Int>) -> Result<[UInt8]?, Failure>, failed: @escaping (Failure) -> Void
    ) {
        self.rest = rest
        self.piece = piece
        self.slot = slot
        self.jobs = jobs
        self.pool = pool
        self.socket = socket
        self.failed = failed
        fetch = read
    }

    func read(_ then: @escaping ([UInt8]?) -> Void) {
        let (next, fetch) = (rest.prefix(piece), fetch)
        do throws(WorkRefusal) {
            try jobs.run(in: pool, for: socket) {
                fetch(next)
            } then: { [self] outcome in
                guard case .success(let result) = outcome else { return then(nil) }
                switch result {
                case .success(let bytes?) where bytes.count == next.count:
                    rest = next.upperBound..<rest.upperBound
                    then(bytes)
                // What was removed meanwhile has not what was announced.
                case .success: then(nil)
                case .failure(let failure):
                    failed(failure)
                    then(nil)
                }
            }
        } catch {
            then(nil)
        }
    }

    func close() { slot = nil }
}
