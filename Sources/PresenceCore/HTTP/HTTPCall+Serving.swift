import PresenceProtocol
import WebSockets
import Workers

/// Responses with content: with `ETag` and 304, single ranges, `HEAD`, and in pieces at the client's speed.
extension HTTPCall {
    /// Responds with bytes that are in memory anyway, such as an embedded page. Text is compressed for clients that
    /// accept that.
    package func serve(_ bytes: [UInt8], as content: HTTPContent) {
        let selection = HTTPConditions(request).selection(length: bytes.count, tag: content.tag, modified: nil)
        var response = content.response(selection, length: bytes.count, tag: content.tag, modified: nil)
        response.body = selection == .whole ? bytes : Array(bytes[selection.range(of: bytes.count)])
        respond(response)
    }

    /// The same with a gzip form, for text. Each form has its own ETag.
    package func serve(_ bytes: PackedBytes, as content: HTTPContent) {
        guard Compression.isWorth(bytes.plain.count, of: content.type) else { return serve(bytes.plain, as: content) }
        var content = content
        content.headers.append(("Vary", "Accept-Encoding"))
        guard api.acceptsGzip(exchange) else { return serve(bytes.plain, as: content) }
        if let packed = bytes.gzip { return serve(gzip: packed, as: content) }
        do throws(WorkRefusal) {
            try shard.jobs.run(in: .compression, for: exchange.socket) {
                bytes.pack()
            } then: { [content] outcome in
                guard case .success(let packed?) = outcome else { return serve(bytes.plain, as: content) }
                serve(gzip: packed, as: content)
            }
        } catch {
            serve(bytes.plain, as: content)
        }
    }

    private func serve(gzip bytes: [UInt8], as content: HTTPContent) {
        var content = content
        content.headers.append(("Content-Encoding", "gzip"))
        content.tag = content.tag.map { $0 + "-gzip" }
        serve(bytes, as: content)
    }

    /// Responds with a file; 404 if there is none. It is opened and read off the loop, and is in memory in pieces of 64
    /// KiB. Beyond `limits.downloads` of longer files the status is 503, beyond `limits.downloadsPerAddress` 429.
    ///
    /// - Parameter path: Absolute. It must never contain anything from a client, since it is not confined to a directory.
    package func serve(file path: String, as content: HTTPContent) {
        let conditions = HTTPConditions(request)
        let wantsBody = request.method != "HEAD"
        func failed(_ failure: FileFailure) {
            shard.logSparsely("file not served", ["reason": "\(failure)"], level: .error)
        }
        work(.files) {
            Result { () throws(FileFailure) in
                try FileAnswer(path, content, conditions, wantsBody: wantsBody)
            }
        } then: { result in
            switch result {
            case .success(let answer):
                let file = answer.file
                beginDownload(of: answer.range.count) { slot in
                    respond(answer.response, answer.range, of: answer.first, slot) { part, then in
                        fetch(from: .files, part, then, failed: failed) { part in
                            Result { () throws(FileFailure) -> [UInt8]? in
                                try file.read(at: part.lowerBound, count: part.count)
                            }
                        }
                    }
                }
            case .failure(let failure) where failure.isMissing:
                refuse(404, .notFound, "there is no such file")
            case .failure(let failure):
                failed(failure)
                refuse(500, .internal, "the server could not read the file")
            }
        }
    }

    /// Responds with bytes that were fetched for this response alone, a piece at a time; with the same limits as for files.
    package func serve(fetched bytes: [UInt8], as content: HTTPContent) {
        select(content, length: bytes.count) { response, range, slot in
            respond(response, range, of: Array(bytes[range]), slot)
        }
    }

    /// Responds with content stored elsewhere, such as on another machine, with conditions and ranges as for files. The
    /// same limits apply, before anything is fetched. 404 if the first part does not exist, 503 if it is unavailable.
    ///
    /// - Parameters:
    ///   - length: The length of the whole content, in bytes.
    ///   - size: The most bytes to fetch at once; for a slow client they stay in memory besides the piece.
    ///   - pool: The pool whose threads fetch.
    ///   - read: Fetches a complete part; `nil` if there is no such content. Blocks.
    ///   - failed: Called on the loop for each failure, after the response or after the connection was closed.
    package func serve<Failure: Error>(
        length: Int, fetching size: Int, as content: HTTPContent, from pool: WorkerPlan,
        read: @escaping @Sendable (Range<Int>) -> Result<[UInt8]?, Failure>, failed: @escaping (Failure) -> Void
    ) {
        select(content, length: length) { response, range, slot in
            let first = range.prefix(size)
            work(pool) {
                read(first)
            } then: { result in
                switch result {
                case .success(let bytes?):
                    respond(response, range, of: bytes, slot, fetchSize: size) { part, then in
                        fetch(from: pool, part, then, failed: failed, read)
                    }
                case .success(nil): refuse(404, .notFound, "there is no such file")
                case .failure(let failure):
                    refuse(503, .init(code: .unavailable, message: "the file cannot be had now", retryAfter: 5_000))
                    failed(failure)
                }
            }
        }
    }

    // MARK: Steps

    /// Passes on the head of the response, the range for its body, and a place among the downloads; responds itself if
    /// there is no place, or no body.
    private func select(
        _ content: HTTPContent, length: Int, then: (HTTPResponse, Range<Int>, Transfers.Slot?) -> Void
    ) {
        let selection = HTTPConditions(request).selection(length: length, tag: content.tag, modified: nil)
        var response = content.response(selection, length: length, tag: content.tag, modified: nil)
        let range = selection.range(of: length)
        guard request.method != "HEAD", !range.isEmpty else {
            if request.method == "HEAD" { response.source = AnnouncedBody(length: range.count) }
            return respond(response)
        }
        beginDownload(of: range.count) { then(response, range, $0) }
    }

    /// Passes on a place among the downloads, or `nil` if the length needs none; responds if every place is taken.
    private func beginDownload(of length: Int, then: (Transfers.Slot?) -> Void) {
        guard length > ContentSource.piece else { return then(nil) }
        do throws(Transfers.LimitMet) {
            let slot = try api.transfers.beginDownload(
                to: caller == .backend ? .none : address, at: shard.clock.now)
            slot.whenDisplaced { [giveUp = api.giveUp, exchange] in giveUp(exchange) }
            then(slot)
        } catch {
            respond(api.refusal(error.limit))
        }
    }

    /// Responds with `range` of a content, of which `first` is in memory; `fetch` returns the rest.
    private func respond(
        _ response: HTTPResponse, _ range: Range<Int>, of first: [UInt8], _ slot: Transfers.Slot?,
        fetchSize: Int = ContentSource.piece, fetch: ContentSource.Fetch? = nil
    ) {
        var response = response
        response.body = Array(first.prefix(ContentSource.piece))
        if range.count > response.body.count {
            response.source = ContentSource(
                first.dropFirst(ContentSource.piece), range.dropFirst(first.count), slot, shard.jobs, exchange.socket,
                fetchSize: fetchSize, fetch: fetch)
        }
        respond(response)
    }

    private func fetch<Failure: Error>(
        from pool: WorkerPlan, _ part: Range<Int>, _ then: @escaping ([UInt8]?) -> Void,
        failed: @escaping (Failure) -> Void, _ read: @escaping @Sendable (Range<Int>) -> Result<[UInt8]?, Failure>
    ) {
        do throws(WorkRefusal) {
            try shard.jobs.run(in: pool, for: exchange.socket) {
                read(part)
            } then: { outcome in
                switch outcome {
                case .success(.success(let bytes)): then(bytes)
                case .success(.failure(let failure)):
                    failed(failure)
                    then(nil)
                case .failure: then(nil)
                }
            }
        } catch {
            then(nil)
        }
    }
}

/// The result of opening a requested file on a thread.
private struct FileAnswer: Sendable {
    let file: OpenFile
    /// Without its body.
    let response: HTTPResponse
    /// The range of the file for the body; empty for HEAD.
    let range: Range<Int>
    /// The first piece of that range.
    let first: [UInt8]

    init(
        _ path: String, _ content: HTTPContent, _ conditions: HTTPConditions, wantsBody: Bool
    ) throws(FileFailure) {
        file = try OpenFile(path)
        let tag = content.tag ?? file.tag
        let selection = conditions.selection(length: file.size, tag: tag, modified: file.modified)
        var response = content.response(selection, length: file.size, tag: tag, modified: file.modified)
        let whole = selection.range(of: file.size)
        if !wantsBody { response.source = AnnouncedBody(length: whole.count) }
        self.response = response
        range = wantsBody ? whole : 0..<0
        first = try file.read(at: range.lowerBound, count: min(range.count, ContentSource.piece))
    }
}
