import PresenceProtocol
import WebSockets
import Workers

/// Answers with content: with `ETag` and 304, single ranges, `HEAD`, and pieces no faster than the client takes them.
extension HTTPCall {
    /// Answers with bytes that the program has anyway, such as a page that it carries. Text is compressed for clients that
    /// read that.
    package func serve(_ bytes: [UInt8], as content: HTTPContent) {
        let selection = HTTPConditions(request).selection(length: bytes.count, tag: content.tag, modified: nil)
        var response = content.response(selection, length: bytes.count, tag: content.tag, modified: nil)
        response.body = selection == .whole ? bytes : Array(bytes[selection.range(of: bytes.count)])
        respond(response)
    }

    /// The same with what is compressed already. Either form has an ETag of its own.
    package func serve(_ bytes: PackedBytes, as content: HTTPContent) {
        guard let packed = bytes.gzip else { return serve(bytes.plain, as: content) }
        var content = content
        content.headers.append(("Vary", "Accept-Encoding"))
        guard api.acceptsGzip(exchange) else { return serve(bytes.plain, as: content) }
        content.headers.append(("Content-Encoding", "gzip"))
        content.tag = content.tag.map { $0 + "-gzip" }
        serve(packed, as: content)
    }

    /// Answers with a file; 404 if there is none. It is opened and read off the loop, and held in memory a piece of 64 KiB at
    /// a time. Beyond `limits.downloads` of longer ones the answer is 503.
    ///
    /// - Parameter path: absolute. Never made of what a client sent: nothing here keeps it within a directory.
    package func serve(file path: String, as content: HTTPContent) {
        let conditions = HTTPConditions(request)
        let wantsBody = request.method != "HEAD"
        work(.files) {
            Result { () throws(FileFailure) in
                try FileAnswer(path, content, conditions, wantsBody: wantsBody)
            }
        } then: { result in
            switch result {
            case .success(let answer): respond(answer)
            case .failure(let failure) where failure.isMissing:
                refuse(404, .notFound, "there is no such file")
            case .failure(let failure):
                shard.log("file not served", ["reason": "\(failure)"], level: .error)
                refuse(500, .internal, "the server could not read this")
            }
        }
    }

    /// Answers with bytes that were fetched for this answer alone. What does not go out at once counts as a download until the
    /// client has it, so slow clients hold a bounded number of them. Beyond `limits.downloads` the answer is 503.
    package func serve(fetched bytes: [UInt8], as content: HTTPContent) {
        let selection = HTTPConditions(request).selection(length: bytes.count, tag: content.tag, modified: nil)
        var response = content.response(selection, length: bytes.count, tag: content.tag, modified: nil)
        let part = bytes[selection.range(of: bytes.count)]
        guard request.method != "HEAD" else {
            response.source = AnnouncedBody(length: part.count)
            return respond(response)
        }
        response.body = Array(part.prefix(FileSource.piece))
        let rest = part.dropFirst(FileSource.piece)
        guard !rest.isEmpty else { return respond(response) }
        guard let slot = api.transfers.beginDownload() else {
            return respond(api.busy(.downloads, "too many files are being sent: try again later"))
        }
        response.source = FetchedSource(rest, slot, shard.jobs, exchange.socket)
        respond(response)
    }

    private func respond(_ answer: FileAnswer) {
        var response = answer.response
        guard !answer.rest.isEmpty, let file = answer.file else { return respond(response) }
        guard let slot = api.transfers.beginDownload() else {
            return respond(api.busy(.downloads, "too many files are being sent: try again later"))
        }
        response.source = FileSource(file, answer.rest, slot, shard.jobs, exchange.socket)
        respond(response)
    }
}

/// What a thread finds out about a file that is asked for.
private struct FileAnswer: Sendable {
    /// With the first piece of its body.
    let response: HTTPResponse
    /// What follows it.
    let rest: Range<Int>
    /// `nil` if nothing follows.
    let file: OpenFile?

    init(
        _ path: String, _ content: HTTPContent, _ conditions: HTTPConditions, wantsBody: Bool
    ) throws(FileFailure) {
        let file = try OpenFile(path)
        let tag = content.tag ?? file.tag
        let selection = conditions.selection(length: file.size, tag: tag, modified: file.modified)
        var response = content.response(selection, length: file.size, tag: tag, modified: file.modified)
        let range = selection.range(of: file.size)
        guard wantsBody else {
            response.source = AnnouncedBody(length: range.count)
            self.response = response
            rest = 0..<0
            self.file = nil
            return
        }
        let first = range.prefix(FileSource.piece)
        response.body = try file.read(at: first.lowerBound, count: first.count)
        self.response = response
        // (A file that has become shorter meanwhile shows when the rest is read.)
        rest = first.upperBound..<range.upperBound
        self.file = rest.isEmpty ? nil : file
    }
}

/// The length of a body that a HEAD request does not get.
final class AnnouncedBody: BodySource {
    let length: Int
    init(length: Int) { self.length = length }
    func read(_ then: @escaping ([UInt8]?) -> Void) { then(nil) }
    func close() {}
}
