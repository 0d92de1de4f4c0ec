import CLibWebSockets

/// Reads the headers that libwebsockets has parsed for one connection; valid inside its callbacks only.
struct HeaderTable {
    private let wsi: OpaquePointer

    init(_ wsi: OpaquePointer) {
        self.wsi = wsi
    }

    /// The headers that are kept.
    static let names: [(name: String, token: lws_token_indexes)] = [
        ("accept", WSI_TOKEN_HTTP_ACCEPT),
        ("authorization", WSI_TOKEN_HTTP_AUTHORIZATION),
        ("connection", WSI_TOKEN_CONNECTION),
        ("content-length", WSI_TOKEN_HTTP_CONTENT_LENGTH),
        ("content-type", WSI_TOKEN_HTTP_CONTENT_TYPE),
        ("expect", WSI_TOKEN_HTTP_EXPECT),
        ("host", WSI_TOKEN_HOST),
        ("if-match", WSI_TOKEN_HTTP_IF_MATCH),
        ("if-none-match", WSI_TOKEN_HTTP_IF_NONE_MATCH),
        ("origin", WSI_TOKEN_ORIGIN),
        ("sec-websocket-key", WSI_TOKEN_KEY),
        ("sec-websocket-protocol", WSI_TOKEN_PROTOCOL),
        ("sec-websocket-version", WSI_TOKEN_VERSION),
        ("transfer-encoding", WSI_TOKEN_HTTP_TRANSFER_ENCODING),
        ("upgrade", WSI_TOKEN_UPGRADE),
        ("user-agent", WSI_TOKEN_HTTP_USER_AGENT),
        ("x-forwarded-for", WSI_TOKEN_X_FORWARDED_FOR),
    ]

    private static let methods: [(name: String, token: lws_token_indexes)] = [
        ("GET", WSI_TOKEN_GET_URI),
        ("POST", WSI_TOKEN_POST_URI),
        ("PUT", WSI_TOKEN_PUT_URI),
        ("PATCH", WSI_TOKEN_PATCH_URI),
        ("DELETE", WSI_TOKEN_DELETE_URI),
        ("HEAD", WSI_TOKEN_HEAD_URI),
        ("OPTIONS", WSI_TOKEN_OPTIONS_URI),
    ]

    /// The whole request but its body; nil if it has no method that we know.
    func request(from peer: PeerAddress) -> HTTPRequest? {
        for (method, token) in Self.methods {
            guard let path = value(token) else { continue }
            var headers: [String: String] = [:]
            for (name, token) in Self.names {
                if let value = value(token) { headers[name] = value }
            }
            return HTTPRequest(
                method: method, path: path, query: query, headers: headers, body: [], peer: peer)
        }
        return nil
    }

    /// Whether the request line ends as it should. libwebsockets takes an encoded line break in a path for the line's end,
    /// and would let a part of the path stand for the whole.
    var isWhole: Bool { value(WSI_TOKEN_HTTP)?.hasPrefix("HTTP/1.") == true }

    /// Whether the connection may serve another request after this one, as libwebsockets sees it.
    var keepsAlive: Bool {
        let connection = value(WSI_TOKEN_CONNECTION)?.lowercased()
        if connection == "close" { return false }
        return value(WSI_TOKEN_HTTP) == "HTTP/1.1" || connection == "keep-alive"
    }

    func value(_ token: lws_token_indexes) -> String? {
        let length = Int(lws_hdr_total_length(wsi, token))
        guard length > 0 else { return nil }
        // One more for the final zero, and one for each comma that joins what came in several parts.
        let room = length + 64
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
            let copied = lws_hdr_copy(wsi, buffer.baseAddress, Int32(room), token)
            guard copied > 0 else { return nil }
            return buffer.prefix(Int(copied)).withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
        }
    }

    private var query: String {
        var parts: [String] = []
        let room = Int(lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS)) + 1
        guard room > 1 else { return "" }
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
            var index: Int32 = 0
            while true {
                let copied = lws_hdr_copy_fragment(
                    wsi, buffer.baseAddress, Int32(room), WSI_TOKEN_HTTP_URI_ARGS, index)
                guard copied >= 0 else { break }
                let part = buffer.prefix(Int(copied))
                parts.append(part.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) })
                index += 1
            }
        }
        return parts.joined(separator: "&")
    }
}
