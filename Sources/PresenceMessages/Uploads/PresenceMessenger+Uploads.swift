import Foundation
import PresenceKit

// Attachments of messages, on a server with `attachments.enabled`.
extension PresenceMessenger {
    /// Uploads a file for a message in this conversation. The upload starts at once. Cancelling the iterating task or
    /// dropping the stream cancels it. Several uploads are sent one after the other, in any order.
    ///
    /// A lost connection is retried once, at once. After any error the call can safely be repeated: the server removes
    /// files that no message of the user refers to within a day (`attachments.unusedFor`).
    ///
    /// The stream throws ``PresenceKit/PresenceError``: `tooLarge`; `validationFailed` with the field `file` (it is
    /// empty, cannot be read, or is not the JPEG or PNG that it claims to be), `name` or `contentType`; `rateLimited`
    /// with `retryAfter` if the user has uploaded the maximum number; `forbidden` if the user is not in the
    /// conversation; `notOffered` if the server accepts no files; `notConnected` and `connectionLost`; `unavailable`;
    /// `signedOut`; `tooMany` if 100 uploads are waiting.
    public nonisolated func upload(
        _ file: AttachmentFile, to conversation: String
    ) -> AsyncThrowingStream<Upload<MessageAttachment>, any Error> {
        AsyncThrowingStream { elements in
            let attachment = try await self.upload(file, to: conversation) { elements.yield(.progress($0)) }
            elements.yield(.saved(attachment))
        }
    }

    private func upload(
        _ file: AttachmentFile, to conversation: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws -> MessageAttachment {
        guard PresenceClient.isValidID(conversation) else {
            throw PresenceError(.invalidID, "not an id: \(conversation.debugDescription)")
        }
        try file.check()
        let user = RequestUser(client: client, id: try await ownUser(), number: userNumber)
        let server = server
        let upload = Task { [turns, clock] in
            try await turns.run {
                // The file may have changed while other files were uploaded.
                let size = Double(try file.check())
                let body = try await server.post(file, to: conversation, as: user, clock) { sent in
                    progress(min(1, Double(sent) / size))
                }
                return try Wire.read(Wire.Uploaded.self, body).attachment
            }
        }
        let id = UUID()
        uploads[id] = upload
        let result = await upload.resultForCaller
        uploads[id] = nil
        try Task.checkCancellation()
        if tasks.isClosed { throw PresenceError.clientClosed }
        guard userNumber == user.number, own == user.id else { throw PresenceError.signedOut }
        do {
            return MessageAttachment(try result.get())
        } catch is CancellationError {
            // Not cancelled by this task: the user signed out, and may have signed in again.
            throw PresenceError.signedOut
        }
    }

    /// The server for files and push registrations.
    var server: HTTPServer {
        let transport = transport ?? client.http ?? URLSessionHTTPTransport()
        self.transport = transport
        return HTTPServer(
            url: configuration.url ?? HTTPServer.url(of: client.webSocketURL),
            transport: ClosableTransport(transport, tasks),
            timeout: configuration.uploadTimeout)
    }
}

extension HTTPServer {
    /// Uploads a file. If the server has not yet noticed the end of this user's previous upload, it returns a short
    /// delay; the upload is then repeated, up to 5 times.
    ///
    /// - Throws: `PresenceError`, or `CancellationError`.
    fileprivate func post(
        _ file: AttachmentFile, to conversation: String, as user: RequestUser, _ clock: any Clock<Duration>,
        progress: @escaping @Sendable (Int) -> Void
    ) async throws -> Data {
        for _ in 1...5 {
            do {
                return try await postOnce(file, to: conversation, as: user, progress: progress)
            } catch let error as PresenceError where error.code == .rateLimited {
                guard let delay = error.retryAfter, delay <= .seconds(2) else { throw error }
                try await clock.sleep(for: delay)
            }
        }
        return try await postOnce(file, to: conversation, as: user, progress: progress)
    }

    private func postOnce(
        _ file: AttachmentFile, to conversation: String, as user: RequestUser,
        progress: @escaping @Sendable (Int) -> Void
    ) async throws -> Data {
        var path = "v1/conversations/\(Self.escaped(conversation))/attachments"
        if let name = file.name { path += "?name=\(Self.escaped(name))" }
        // Unused files are removed, so a second upload is harmless.
        var request = Request("POST", path, isRepeatable: true)
        request.contentType = file.contentType
        switch file.content {
        case .data(let data): request.body = data
        case .file(let url): request.bodyFile = url.resolvingSymlinksInPath()
        }
        let token = try await user.token()
        return try await send(request, as: user, with: token, progress: progress).response.body
    }
}
