import CLibWebSockets
import Glibc

/// The one entry from C for clients: libwebsockets calls it on the loop's thread.
let clientCallback: LibWebSockets.Callback = { wsi, reason, _, input, length in
    switch reason {
    case LWS_CALLBACK_CLIENT_RECEIVE, LWS_CALLBACK_CLIENT_RECEIVE_PONG, LWS_CALLBACK_CLIENT_WRITEABLE,
        LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER, LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP,
        LWS_CALLBACK_CLIENT_ESTABLISHED, LWS_CALLBACK_CLIENT_CONNECTION_ERROR,
        LWS_CALLBACK_WS_PEER_INITIATED_CLOSE, LWS_CALLBACK_WSI_DESTROY:
        guard let wsi, let data = lws_get_opaque_user_data(wsi) else { return 0 }
        let reference = Unmanaged<WebSocketClient>.fromOpaque(data)
        // The reference that dialling retained; the last callback releases it.
        let client =
            reason == LWS_CALLBACK_WSI_DESTROY ? reference.takeRetainedValue() : reference.takeUnretainedValue()
        return client.handle(reason, wsi, UnsafeMutableRawBufferPointer(start: input, count: input == nil ? 0 : length))
    default:
        return 0
    }
}

extension WebSocketClient {
    /// Returns 0 to continue, -1 to end the connection.
    func handle(
        _ reason: lws_callback_reasons, _ wsi: OpaquePointer, _ input: UnsafeMutableRawBufferPointer
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_CLIENT_RECEIVE:
            receive(wsi, UnsafeRawBufferPointer(input))
        case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
            heard()
        case LWS_CALLBACK_CLIENT_WRITEABLE:
            // libwebsockets also calls this after it answered a ping, which it reports in no other way, and after
            // requests of our own.
            if !hasQueued { heard() }
            return flush(wsi) ? 0 : -1
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
            return appendHeaders(input)
        case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
            readAnswer(wsi)
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            established()
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            handshakeFailed(input.isEmpty ? "no connection" : String(decoding: input, as: UTF8.self))
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            if serverCloses(UnsafeRawBufferPointer(input)) { return -1 }
        case LWS_CALLBACK_WSI_DESTROY:
            forgotten()
        default:
            break
        }
        return 0
    }

    private func heard() {
        if state == .open { delegate?.heard(self) }
    }

    /// `input` is a pointer to the write position, and the size of the room after it.
    private func appendHeaders(_ input: UnsafeMutableRawBufferPointer) -> Int32 {
        guard let cursor = input.baseAddress?.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>.self) else {
            return -1
        }
        shared.locateBuffer(position: cursor.pointee, left: input.count)
        let text = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        guard text.utf8.count < input.count,
            !headers.contains(where: { ($0.name + $0.value).contains(where: \.isNewline) })
        else {
            closure = .failed("the request's headers are too long or contain line breaks")
            return -1
        }
        for byte in text.utf8 {
            cursor.pointee.pointee = byte
            cursor.pointee += 1
        }
        return 0
    }

    /// Reads the server's answer to the upgrade, whether the server accepted it or not.
    private func readAnswer(_ wsi: OpaquePointer) {
        let status = Int(lws_http_client_http_response(wsi))
        if status != 101 {
            closure = .refused(status: status, retryAfter: HeaderTable(wsi).value(WSI_TOKEN_HTTP_RETRY_AFTER))
        }
        acceptedSubprotocol = HeaderTable(wsi).value(WSI_TOKEN_PROTOCOL)
    }

    /// A piece of a message; the last one may be empty.
    private func receive(_ wsi: OpaquePointer, _ piece: UnsafeRawBufferPointer) {
        guard state == .open else { return }
        heard()
        guard state == .open else { return }
        if lws_frame_is_binary(wsi) != 0 { return close(code: 1003, reason: "text messages only") }
        if message.count + piece.count + lws_remaining_packet_payload(wsi) > Self.maxMessageBytes {
            return close(code: 1009, reason: "too long")
        }
        let isLast = lws_is_final_fragment(wsi) != 0
        if message.isEmpty && isLast { return deliver(piece) }
        message.append(contentsOf: piece)
        guard isLast else { return }
        let whole = message
        message = []
        whole.withUnsafeBytes { deliver($0) }
    }

    private func deliver(_ message: UnsafeRawBufferPointer) {
        guard message.isValidUTF8 else { return close(code: 1007, reason: "not UTF-8") }
        delegate?.received(message, on: self)
    }
}
