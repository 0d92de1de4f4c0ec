import Foundation
import PresenceHTTP
import PresenceKit

// What is attached to messages, at a server with `attachments.enabled`.
extension PresenceMessages {
    /// How files are uploaded; the defaults suit an app.
    public struct Configuration: Hashable, Sendable {
        /// The server's address over HTTP, such as `https://presence.example.org`; `nil`: that of the client's WebSocket
        /// without `v1/ws`.
        public var url: URL?
        /// How long nothing may happen in an upload.
        public var uploadTimeout = Duration.seconds(60)

        /// The defaults.
        public init() {}
    }

    /// Uploads a file that a message in this conversation is to have attached. The upload begins at once; cancelling the
    /// task that iterates, or dropping the stream, ends it. Several are sent one after the other, in any order.
    ///
    /// A lost connection is tried again once, at once. After any error the same call again is a retry, without harm: what
    /// no message of the user mentions within a day the server removes (`attachments.unusedFor`).
    ///
    /// The stream throws ``PresenceKit/PresenceError``: `tooLarge`; `validationFailed` with the field `file` (it is empty,
    /// cannot be read, or is said to be a JPEG or PNG and is none), `name` or `contentType`; `rateLimited` with
    /// `retryAfter` if the user has uploaded as many as they may; `forbidden` for somebody who is not in the conversation;
    /// `notOffered` where the server takes no files; `notConnected` and `connectionLost`; `unavailable`; `signedOut`;
    /// `tooMany` if 100 uploads wait.
    public nonisolated func upload(
        _ file: AttachmentFile, to conversation: String
    ) -> AsyncThrowingStream<AttachmentUpload, any Error> {
        AsyncThrowingStream { elements in
            let attachment = try await self.upload(file, to: conversation) { elements.yield(.progress($0)) }
            elements.yield(.uploaded(attachment))
        }
    }

    private func upload(
        _ file: AttachmentFile, to conversation: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws -> MessageAttachment {
        guard PresenceID.isValid(conversation) else {
            throw PresenceError(.invalidID, "not an id: \(conversation.debugDescription)")
        }
        try file.check()
        let user = try await ownUser()
        let server = server
        let upload = Task { [turns, client, clock] in
            try await turns.run {
                // It may have changed while others were uploaded.
                let size = Double(try file.check())
                let body = try await server.post(file, to: conversation, of: client, as: user, clock) { sent in
                    progress(min(1, Double(sent) / size))
                }
                return try Wire.read(Wire.Uploaded.self, body).attachment
            }
        }
        let id = UUID()
        uploads[id] = upload
        let result = await withTaskCancellationHandler {
            await upload.result
        } onCancel: {
            upload.cancel()
        }
        uploads[id] = nil
        try Task.checkCancellation()
        guard own == user else { throw PresenceError(.signedOut, "the user signed out or was changed") }
        do {
            return MessageAttachment(try result.get())
        } catch is CancellationError {
            // Not this task's: the user signed out, and may be here again.
            throw PresenceError(.signedOut, "the user signed out or was changed")
        }
    }

    /// Where files, and devices to push to, go.
    var server: HTTPServer {
        let transport = transport ?? URLSessionHTTPTransport()
        self.transport = transport
        return HTTPServer(
            url: configuration.url ?? Self.server(of: client.webSocketURL), transport: transport,
            timeout: configuration.uploadTimeout)
    }

    /// The address over HTTP of the server that has this WebSocket.
    static func server(of webSocket: URL) -> URL {
        var parts = URLComponents(url: webSocket, resolvingAgainstBaseURL: true) ?? URLComponents()
        parts.scheme = webSocket.scheme?.lowercased() == "ws" ? "http" : "https"
        parts.query = nil
        parts.fragment = nil
        if parts.percentEncodedPath.hasSuffix("/v1/ws") { parts.percentEncodedPath.removeLast("/v1/ws".count) }
        return parts.url ?? webSocket
    }
}

extension HTTPServer {
    /// A server that is still busy with this user's last upload, whose end it has not noticed, says that it will soon take
    /// the next one: it is sent again after that time, a few times.
    ///
    /// - Throws: `PresenceError`, or `CancellationError`.
    fileprivate func post(
        _ file: AttachmentFile, to conversation: String, of client: PresenceClient, as user: String,
        _ clock: any Clock<Duration>, progress: @escaping @Sendable (Int) -> Void
    ) async throws -> Data {
        for _ in 1...5 {
            do {
                return try await postOnce(file, to: conversation, of: client, as: user, progress: progress)
            } catch let error as PresenceError where error.code == .rateLimited {
                guard let delay = error.retryAfter, delay <= .seconds(2) else { throw error }
                try await clock.sleep(for: delay)
            }
        }
        return try await postOnce(file, to: conversation, of: client, as: user, progress: progress)
    }

    private func postOnce(
        _ file: AttachmentFile, to conversation: String, of client: PresenceClient, as user: String,
        progress: @escaping @Sendable (Int) -> Void
    ) async throws -> Data {
        var path = "v1/conversations/\(Self.escaped(conversation))/attachments"
        if let name = file.name { path += "?name=\(Self.escaped(name))" }
        // What nobody mentions is removed: a second upload does no harm.
        var request = Request("POST", path, isRepeatable: true)
        request.contentType = file.contentType
        switch file.content {
        case .data(let data): request.body = data
        case .file(let url): request.bodyFile = url.resolvingSymlinksInPath()
        }
        let token = try await client.token(of: user)
        return try await send(request, of: client, as: user, with: token, progress: progress).response.body
    }
}
