import Foundation
import OutgoingHTTP
import PresenceCore
import WebSockets

/// Files in a bucket of S3-compatible storage; their keys are a prefix and their names.
///
/// It guarantees that
/// - no loop waits for the storage: as many calls run as its pool has threads, some more are queued, and further ones are
///   refused with 503;
/// - a file exists completely or not at all, as the storage guarantees, and the signature covers its bytes;
/// - a call that fails because of the storage is tried twice, within 15 s in all.
struct S3Files: FileStore {
    static let pool = WorkerPlan(
        "s3", threads: { $0[S3Bucket.bucket].isEmpty ? 0 : running }, queue: { _ in queued }, longestWait: 10)
    private static let (running, queued) = (8, 256)
    /// Only the threads of the pool use it, so nothing is ever queued in it.
    private static let client = OutgoingClient(
        name: "s3", mostRunning: running, mostQueued: running, userAgent: "Presence")

    private static let tries = 2
    /// In seconds: the limit of both tries together, and of one try.
    private static let (longest, longestTry) = (15.0, 8.0)
    /// The most keys in a page of a listing, with some 600 bytes of XML each.
    private static let page = 1_000
    /// The most pages read of one part; two million pictures with thumbnails take 16.
    private static let mostPages = 64
    private static let mostBytes = 4 * 1_024 * 1_024

    /// The bytes fetched at a time of a large file: the memory that a slow download uses.
    private static let piece = 512 * 1024

    let bucket: S3Bucket
    /// The kinds of files that a name may have.
    let kinds: [StoredFile.Kind]
    /// The caching header that the storage sends to browsers and caches.
    let cacheControl: String

    var pool: WorkerPlan { Self.pool }
    var isRemote: Bool { true }

    func store(_ parts: [StoredPart], as name: StoredName) throws(FileStoreFailure) {
        do throws(FileStoreFailure) {
            for part in parts { try put(part.content, as: StoredFile(name, part.kind)) }
        } catch {
            // The sweep removes files whose deletion fails here.
            for part in parts.dropLast() { try? delete(StoredFile(name, part.kind)) }
            throw error
        }
    }

    private func put(_ content: StoredPart.Content, as file: StoredFile) throws(FileStoreFailure) {
        var request = S3Request("PUT", bucket.path(of: file))
        // The storage sends these headers when it serves the file itself.
        request.headers = [("cache-control", cacheControl), ("content-type", file.kind.type)]
        switch content {
        case .bytes(let bytes): request.body = bytes
        case .upload(let upload):
            // The signature covers the whole body, so each thread of the pool may have one upload in memory.
            do throws(FileFailure) {
                request.body = try upload.read(at: 0, count: upload.size)
            } catch {
                throw FileStoreFailure(error)
            }
        }
        let answer = try call(request)
        guard answer.status == 200 else { throw Self.refusal(answer) }
    }

    func remove(_ name: StoredName) throws(FileStoreFailure) {
        for kind in kinds { try delete(StoredFile(name, kind)) }
    }

    private func delete(_ file: StoredFile) throws(FileStoreFailure) {
        let answer = try call(S3Request("DELETE", bucket.path(of: file)))
        guard [200, 204, 404].contains(answer.status) else { throw Self.refusal(answer) }
    }

    /// The age of files is measured by the storage's clock.
    func names(in part: Int) throws(FileStoreFailure) -> [StoredName] {
        var names: Set<StoredName> = []
        var last = ""
        for _ in 0..<Self.mostPages {
            var request = S3Request("GET", "/\(bucket.name)")
            request.query = [
                ("list-type", "2"), ("max-keys", String(Self.page)),
                ("prefix", bucket.prefix + FileSweep.digits(of: part)),
            ]
            if !last.isEmpty { request.query.append(("start-after", last)) }
            let answer = try call(request)
            guard answer.status == 200 else { throw Self.refusal(answer) }
            guard let listing = S3Listing(answer.body),
                let now = answer["date"].flatMap({ S3Listing.seconds(date: $0) })
            else { throw FileStoreFailure("the storage's listing cannot be read") }
            for entry in listing.entries where entry.modified + FileSweep.grace < now {
                if let file = bucket.file(of: entry.key) { names.insert(file.name) }
            }
            guard listing.isMore, let next = listing.entries.last?.key, next > last else { break }
            last = next
        }
        return names.sorted { $0.text < $1.text }
    }

    func mark() throws(FileStoreFailure) -> String? {
        try read(bucket.markPath).map { String(decoding: $0.prefix(256), as: UTF8.self) }
    }

    func setMark(_ mark: String) throws(FileStoreFailure) {
        var request = S3Request("PUT", bucket.markPath)
        request.headers = [("content-type", "text/plain")]
        request.body = Array(mark.utf8)
        let answer = try call(request)
        guard answer.status == 200 else { throw Self.refusal(answer) }
    }

    func check() throws(FileStoreFailure) {
        let answer = try call(S3Request("HEAD", "/\(bucket.name)"))
        guard answer.status == 200 else { throw Self.refusal(answer) }
    }

    // MARK: Serving

    func serve(
        _ file: StoredFile, of size: Int?, as content: HTTPContent, on call: HTTPCall,
        failed: @escaping (FileStoreFailure) -> Void
    ) {
        if let url = bucket.publicURL(of: file) {
            // Cached for only an hour, because the bucket may move.
            return call.respond(
                HTTPResponse(
                    status: 302,
                    headers: [("Location", url), ("Cache-Control", "public, max-age=3600")] + content.headers))
        }
        guard let size, size > Self.piece else { return serveWhole(file, as: content, on: call, failed: failed) }
        let path = bucket.path(of: file)
        call.serve(length: size, fetching: Self.piece, as: content, from: pool) { [self] range in
            Result { () throws(FileStoreFailure) in try read(path, range) }
        } failed: {
            failed($0)
        }
    }

    private func serveWhole(
        _ file: StoredFile, as content: HTTPContent, on call: HTTPCall, failed: @escaping (FileStoreFailure) -> Void
    ) {
        call.work(Self.pool) {
            Result { () throws(FileStoreFailure) in try read(bucket.path(of: file)) }
        } then: { result in
            switch result {
            case .success(let bytes?): call.serve(fetched: bytes, as: content)
            case .success(nil): call.refuse(404, .notFound, "there is no such file")
            case .failure(let failure):
                failed(failure)
                call.refuse(
                    503, .init(code: .unavailable, message: "the file cannot be had now", retryAfter: 5_000))
            }
        }
    }

    func read(_ file: StoredFile) throws(FileStoreFailure) -> [UInt8]? { try read(bucket.path(of: file)) }

    /// Reads a part of a file; `nil` if the file does not exist.
    private func read(_ path: String, _ range: Range<Int>) throws(FileStoreFailure) -> [UInt8]? {
        var request = S3Request("GET", path)
        request.headers = [("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")]
        let answer = try call(request)
        switch answer.status {
        case 206 where answer.body.count == range.count: return answer.body
        case 404: return nil
        case 200, 206: throw FileStoreFailure("the storage answered with another part of a file")
        default: throw Self.refusal(answer)
        }
    }

    /// Reads a file; `nil` if it does not exist.
    private func read(_ path: String) throws(FileStoreFailure) -> [UInt8]? {
        let answer = try call(S3Request("GET", path))
        switch answer.status {
        case 200: return answer.body
        case 404: return nil
        default: throw Self.refusal(answer)
        }
    }

    // MARK: Calls

    private func call(_ request: S3Request) throws(FileStoreFailure) -> OutgoingResponse {
        let begin = ContinuousClock.now
        var failure = FileStoreFailure("the storage did not answer")
        // All requests are idempotent, so they may be repeated.
        for _ in 0..<Self.tries {
            let left = Self.longest - (ContinuousClock.now - begin) / .seconds(1)
            do throws(OutgoingFailure) {
                let answer = try Self.client.sendAndBlock(outgoing(request, within: min(left, Self.longestTry)))
                guard answer.status >= 500 || answer.status == 429 else { return answer }
                failure = Self.refusal(answer)
            } catch {
                failure = FileStoreFailure("the storage did not answer: \(error.reason)")
            }
        }
        throw failure
    }

    private func outgoing(_ request: S3Request, within limit: Double) -> OutgoingRequest {
        let query = request.canonicalQuery
        var outgoing = OutgoingRequest(
            request.method, bucket.endpoint + request.path + (query.isEmpty ? "" : "?" + query), body: request.body)
        outgoing.headers = bucket.signer.headers(of: request, to: bucket.host, at: Int64(time(nil)))
        outgoing.limits.total = limit
        outgoing.limits.connecting = min(limit, 3)
        outgoing.limits.responseBytes = Self.mostBytes
        return outgoing
    }

    /// Adds the storage's error code, such as `AccessDenied` or `RequestTimeTooSkewed`.
    private static func refusal(_ answer: OutgoingResponse) -> FileStoreFailure {
        let text = String(decoding: answer.body.prefix(4_096), as: UTF8.self)
        let code =
            S3Listing.value("Code", of: text[...]).map { $0.filter { $0.isASCII && $0.isLetter }.prefix(64) } ?? ""
        return FileStoreFailure("the storage answered \(answer.status)\(code.isEmpty ? "" : " \(code)")")
    }
}
