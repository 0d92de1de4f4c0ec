import Foundation
import OutgoingHTTP
import PresenceCore
import WebSockets

/// Pictures in a bucket of S3-compatible storage, under their names behind a prefix.
///
/// It guarantees that
/// - no loop waits for it: as many calls run as its pool has threads, more wait, and still more are refused with 503;
/// - each picture or thumbnail is there whole or not at all, as the storage promises it, and its bytes are in the signature;
/// - a call that fails for the storage's reasons is tried twice, within 15 s in all.
struct S3Photos: PhotoStore {
    static let pool = WorkerPlan(
        "s3", threads: { $0[text: .s3Bucket].isEmpty ? 0 : running }, queue: { _ in queued }, longestWait: 10)
    private static let (running, queued) = (8, 256)
    /// The threads of the pool use it, so nothing ever waits in it.
    private static let client = OutgoingClient(
        name: "s3", mostRunning: running, mostQueued: running, userAgent: "Presence")

    private static let tries = 2
    /// In seconds: of both tries together, and of one.
    private static let (longest, longestTry) = (15.0, 8.0)
    /// A page of a listing has so many keys, of some 600 bytes of XML each.
    private static let page = 1_000
    /// Of one part in one look: two million pictures are 16 pages.
    private static let mostPages = 64
    private static let mostBytes = 4 * 1_024 * 1_024

    let bucket: S3Bucket

    var pool: WorkerPlan { Self.pool }

    func keep(_ photo: [UInt8], _ thumbnail: [UInt8], as name: PhotoName) throws(PhotoStoreFailure) {
        do throws(PhotoStoreFailure) {
            try put(photo, as: PhotoFile(name, isThumbnail: false))
            try put(thumbnail, as: PhotoFile(name, isThumbnail: true))
        } catch {
            // What is not removed now is found by the sweep.
            try? delete(PhotoFile(name, isThumbnail: false))
            throw error
        }
    }

    private func put(_ bytes: [UInt8], as file: PhotoFile) throws(PhotoStoreFailure) {
        var request = S3Request("PUT", bucket.path(of: file))
        // The storage gives these to whom it serves the picture itself.
        request.headers = [("cache-control", Photos.cacheControl), ("content-type", "image/jpeg")]
        request.body = bytes
        let answer = try call(request)
        guard answer.status == 200 else { throw Self.refusal(answer) }
    }

    func remove(_ name: PhotoName) throws(PhotoStoreFailure) {
        try delete(PhotoFile(name, isThumbnail: false))
        try delete(PhotoFile(name, isThumbnail: true))
    }

    private func delete(_ file: PhotoFile) throws(PhotoStoreFailure) {
        let answer = try call(S3Request("DELETE", bucket.path(of: file)))
        guard [200, 204, 404].contains(answer.status) else { throw Self.refusal(answer) }
    }

    /// How old something is, is measured by the storage's own clock.
    func names(in part: Int) throws(PhotoStoreFailure) -> [PhotoName] {
        var names: Set<PhotoName> = []
        var last = ""
        for _ in 0..<Self.mostPages {
            var request = S3Request("GET", "/\(bucket.name)")
            request.query = [
                ("list-type", "2"), ("max-keys", String(Self.page)),
                ("prefix", bucket.prefix + PhotoSweep.digits(of: part)),
            ]
            if !last.isEmpty { request.query.append(("start-after", last)) }
            let answer = try call(request)
            guard answer.status == 200 else { throw Self.refusal(answer) }
            guard let listing = S3Listing(answer.body),
                let now = answer["date"].flatMap({ S3Listing.seconds(date: $0) })
            else { throw PhotoStoreFailure("the storage's listing cannot be read") }
            for entry in listing.entries where entry.modified + PhotoSweep.grace < now {
                if let file = bucket.file(of: entry.key) { names.insert(file.photo) }
            }
            guard listing.isMore, let next = listing.entries.last?.key, next > last else { break }
            last = next
        }
        return names.sorted { $0.text < $1.text }
    }

    func mark() throws(PhotoStoreFailure) -> String? {
        try read(bucket.markPath).map { String(decoding: $0.prefix(256), as: UTF8.self) }
    }

    func setMark(_ mark: String) throws(PhotoStoreFailure) {
        var request = S3Request("PUT", bucket.markPath)
        request.headers = [("content-type", "text/plain")]
        request.body = Array(mark.utf8)
        let answer = try call(request)
        guard answer.status == 200 else { throw Self.refusal(answer) }
    }

    func check() throws(PhotoStoreFailure) {
        let answer = try call(S3Request("HEAD", "/\(bucket.name)"))
        guard answer.status == 200 else { throw Self.refusal(answer) }
    }

    // MARK: Serving

    func serve(
        _ file: PhotoFile, as content: HTTPContent, on call: HTTPCall, failed: @escaping (PhotoStoreFailure) -> Void
    ) {
        if let address = bucket.publicAddress(of: file) {
            // For an hour, since the bucket may move.
            return call.respond(
                HTTPResponse(
                    status: 302,
                    headers: [("Location", address), ("Cache-Control", "public, max-age=3600")] + content.headers))
        }
        call.work(Self.pool) {
            Result { () throws(PhotoStoreFailure) in try read(bucket.path(of: file)) }
        } then: { result in
            switch result {
            case .success(let bytes?): call.serve(fetched: bytes, as: content)
            case .success(nil): call.refuse(404, .notFound, "there is no such file")
            case .failure(let failure):
                failed(failure)
                call.refuse(
                    503, .init(code: .unavailable, message: "the picture cannot be had now", retryAfter: 5_000))
            }
        }
    }

    /// `nil` if it is not there.
    private func read(_ path: String) throws(PhotoStoreFailure) -> [UInt8]? {
        let answer = try call(S3Request("GET", path))
        switch answer.status {
        case 200: return answer.body
        case 404: return nil
        default: throw Self.refusal(answer)
        }
    }

    // MARK: Calls

    private func call(_ request: S3Request) throws(PhotoStoreFailure) -> OutgoingResponse {
        let begin = ContinuousClock.now
        var failure = PhotoStoreFailure("the storage did not answer")
        // Everything that is asked may be asked twice.
        for _ in 0..<Self.tries {
            let left = Self.longest - (ContinuousClock.now - begin) / .seconds(1)
            do throws(OutgoingFailure) {
                let answer = try Self.client.sendAndBlock(outgoing(request, within: min(left, Self.longestTry)))
                guard answer.status >= 500 || answer.status == 429 else { return answer }
                failure = Self.refusal(answer)
            } catch {
                failure = PhotoStoreFailure("the storage did not answer: \(error.reason)")
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

    /// With the storage's own word, such as `AccessDenied` or `RequestTimeTooSkewed`.
    private static func refusal(_ answer: OutgoingResponse) -> PhotoStoreFailure {
        let text = String(decoding: answer.body.prefix(4_096), as: UTF8.self)
        let code =
            S3Listing.value("Code", of: text[...]).map { $0.filter { $0.isASCII && $0.isLetter }.prefix(64) } ?? ""
        return PhotoStoreFailure("the storage answered \(answer.status)\(code.isEmpty ? "" : " \(code)")")
    }
}
