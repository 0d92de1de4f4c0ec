/// A request for a WebSocket, validated by RFC 6455.
public struct UpgradeRequest: Sendable {
    public var request: HTTPRequest

    /// The subprotocols that the client offers, in its order.
    public var subprotocols: [String]

    public var path: String { request.path }
    public var peer: PeerAddress { request.peer }
    public var authorization: String? { request.headers["authorization"] }
    public var origin: String? { request.headers["origin"] }
}

/// The decision about an upgrade.
public enum UpgradeDecision: Sendable {
    /// The server selects the first offered subprotocol that is in its configuration. If some are offered and none is
    /// known, the upgrade is rejected with 400.
    case accept
    case refuse(HTTPResponse)
}

extension UpgradeRequest {
    /// Validates the request.
    ///
    /// - Throws: the response that rejects the request.
    init(checking request: HTTPRequest) throws(Refusal) {
        let headers = request.headers
        guard request.method == "GET" else {
            var response = HTTPResponse.text(405, "a WebSocket is asked for with GET")
            response.headers.append(("Allow", "GET"))
            throw Refusal(response)
        }
        let connection = headers["connection"]
        guard
            connection == "Upgrade"
                || HeaderFields.list(connection).contains(where: { $0.lowercased() == "upgrade" })
        else {
            throw Refusal(.text(400, "the header Connection must say Upgrade"))
        }
        guard request.head.isHTTP11, request.host != nil else {
            throw Refusal(.text(400, "a WebSocket is asked for in HTTP/1.1"))
        }
        guard headers["sec-websocket-version"] == "13" else {
            var response = HTTPResponse.text(426, "this server speaks version 13 of the WebSocket protocol")
            response.headers += [("Sec-WebSocket-Version", "13"), ("Upgrade", "websocket")]
            throw Refusal(response)
        }
        guard let key = headers["sec-websocket-key"], Self.isKey(key) else {
            throw Refusal(.text(400, "the header Sec-WebSocket-Key must be 16 bytes in base64"))
        }
        let offered = headers["sec-websocket-protocol"]
        let subprotocols = HeaderFields.list(offered)
        guard offered == nil || !subprotocols.isEmpty,
            subprotocols.allSatisfy({ $0.utf8.allSatisfy(isTokenByte) })
        else {
            throw Refusal(.text(400, "the header Sec-WebSocket-Protocol is malformed"))
        }
        self.init(request: request, subprotocols: subprotocols)
    }

    struct Refusal: Error {
        let response: HTTPResponse
        init(_ response: HTTPResponse) { self.response = response }
    }

    /// 16 bytes in base64 are 22 characters and two padding signs.
    private static func isKey(_ key: String) -> Bool {
        let bytes = key.utf8
        return bytes.count == 24 && bytes.suffix(2).allSatisfy { $0 == UInt8(ascii: "=") }
            && bytes.prefix(22).allSatisfy(isBase64Byte)
    }

    private static func isBase64Byte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
