/// An answer to a request, or to a rejected upgrade.
public struct HTTPResponse: Sendable {
    public var status: Int
    /// Headers in addition to `Content-Length`, `Date` and `Connection`, which are always added. Values must not
    /// contain line breaks.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// Supplies the rest of the body in pieces, after the bytes in `body`.
    public var source: (any BodySource)?
    /// Whether the connection ends after this answer.
    public var isLast = false

    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A plain-text answer.
    public static func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Array((text + "\n").utf8))
    }

    /// Encodes the answer as HTTP/1.1. A HEAD request gets everything except the body.
    ///
    /// - Parameters:
    ///   - date: the value of `Date`; empty for none.
    ///   - request: the request's name; empty for none.
    func encoded(keepAlive: Bool, withBody: Bool = true, date: String = "", request: String = "") -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        if !date.isEmpty { head += "Date: \(date)\r\n" }
        if !request.isEmpty { head += "X-Request-Id: \(request)\r\n" }
        for (name, value) in headers {
            head += "\(name): \(value.replacing(where: { $0.isNewline }, with: " "))\r\n"
        }
        if status != 204 && status != 304 { head += "Content-Length: \(body.count + (source?.length ?? 0))\r\n" }
        // Upgrade is about this connection only (RFC 9110, 7.8).
        let upgrade = headers.contains { $0.name == "Upgrade" } ? ", upgrade" : ""
        head += "Connection: \(keepAlive ? "keep-alive" : "close")\(upgrade)\r\n\r\n"
        var bytes = Array(head.utf8)
        if withBody { bytes += body }
        return bytes
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 302: "Found"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Status"
        }
    }
}

extension String {
    fileprivate func replacing(where matches: (Character) -> Bool, with replacement: Character) -> String {
        contains(where: matches) ? String(map { matches($0) ? replacement : $0 }) : self
    }
}
