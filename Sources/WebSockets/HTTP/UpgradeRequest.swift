/// A request to become a WebSocket, checked to be one that RFC 6455 allows.
public struct UpgradeRequest: Sendable {
    public var request: HTTPRequest

    /// The subprotocols that the client offers, in its order.
    public var subprotocols: [String]

    public var path: String { request.path }
    public var peer: PeerAddress { request.peer }
    public var authorization: String? { request.headers["authorization"] }
    public var origin: String? { request.headers["origin"] }
}

/// What becomes of an upgrade.
public enum UpgradeDecision: Sendable {
    /// The first subprotocol offered that the server's configuration has is echoed. If some are offered and none is
    /// known, the upgrade is refused with 400 all the same.
    case accept
    case refuse(HTTPResponse)
}

extension UpgradeRequest {
    /// Checks it.
    ///
    /// - Throws: the response that refuses the request.
    init(checking request: HTTPRequest) throws(Refusal) {
        let headers = request.headers
        guard request.method == "GET" else {
            var response = HTTPResponse.text(405, "a WebSocket is asked for with GET")
            response.headers.append(("Allow", "GET"))
            throw Refusal(response)
        }
        guard Self.list(headers["connection"]).contains(where: { $0.lowercased() == "upgrade" }) else {
            throw Refusal(.text(400, "the header Connection must say Upgrade"))
        }
        guard request.head.isHTTP11, request.host != nil else {
            throw Refusal(.text(400, "a WebSocket is asked for in HTTP/1.1"))
        }
        guard headers["sec-websocket-version"] == "13" else {
            var response = HTTPResponse.text(426, "this server speaks version 13 of the WebSocket protocol")
            response.headers.append(("Sec-WebSocket-Version", "13"))
            throw Refusal(response)
        }
        guard let key = headers["sec-websocket-key"], key.utf8.count == 24, key.hasSuffix("==") else {
            throw Refusal(.text(400, "the header Sec-WebSocket-Key must be 16 bytes in base64"))
        }
        let offered = headers["sec-websocket-protocol"]
        let subprotocols = Self.list(offered)
        guard offered == nil || !subprotocols.isEmpty,
            subprotocols.allSatisfy({ $0.utf8.count < 64 && $0.utf8.allSatisfy(Self.isTokenByte) })
        else {
            throw Refusal(.text(400, "the header Sec-WebSocket-Protocol is malformed"))
        }
        self.init(request: request, subprotocols: subprotocols)
    }

    struct Refusal: Error {
        let response: HTTPResponse
        init(_ response: HTTPResponse) { self.response = response }
    }

    /// The elements of a comma-separated header.
    private static func list(_ value: String?) -> [String] {
        // Over bytes: as characters this would be the dearest part of a handshake.
        (value ?? "").utf8.split(separator: UInt8(ascii: ",")).compactMap { element in
            var element = element
            while let first = element.first, isBlank(first) { element.removeFirst() }
            while let last = element.last, isBlank(last) { element.removeLast() }
            return element.isEmpty ? nil : String(Substring(element))
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    /// What names of subprotocols are made of.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
