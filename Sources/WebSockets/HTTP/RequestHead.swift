/// The head of an HTTP/1 request, parsed by `RequestHeadReader`: its request line and its header fields.
///
/// Every decision about a request uses this one parse.
public struct RequestHead: Sendable {
    /// The method as it was received, a token: `GET` is a known method, `get` is not.
    public let method: String
    /// The path without its query, neither decoded nor normalised. `*` and the target of CONNECT are not paths, but are
    /// here too, unchanged.
    public let path: String
    /// The unchanged text after the `?`. Empty if there is none.
    public let query: String
    /// Whether the request is HTTP/1.1, not HTTP/1.0.
    public let isHTTP11: Bool
    public let headers: HeaderFields
    /// The authority before the target's path (`http://host/path`): it replaces `Host` (RFC 9112, 3.2.2).
    let authority: String?
    /// `nil` without Content-Length.
    public let contentLength: Int?
    /// Whether its body comes in chunks, without a length.
    public let isChunked: Bool

    /// The requested host.
    public var host: String? { authority ?? headers["host"] }

    /// Whether the client requests a WebSocket. A server may ignore an upgrade to another protocol (RFC 9110, 7.8), and
    /// this server does so: a request that offers HTTP/2 is answered in HTTP/1.1.
    ///
    /// HTTP/1.0 has no upgrades.
    var asksForWebSocket: Bool {
        guard isHTTP11, let upgrade = headers["upgrade"] else { return false }
        if upgrade == "websocket" { return true }
        return HeaderFields.list(upgrade).contains { $0.lowercased() == "websocket" }
    }

    /// Whether the client accepts answers compressed with gzip (RFC 9110, 12.5.3): it names gzip, or `*`, with a weight
    /// above zero.
    var acceptsGzip: Bool {
        guard let accepted = headers["accept-encoding"] else { return false }
        var others = false
        for element in accepted.lowercased().split(separator: ",") {
            let parts = element.split(separator: ";", omittingEmptySubsequences: false).map {
                $0.filter { $0 != " " && $0 != "\t" }
            }
            let isWanted = !parts.dropFirst().contains {
                $0.hasPrefix("q=") && $0.dropFirst(2).allSatisfy("0.".contains)
            }
            switch parts[0] {
            case "gzip", "x-gzip": return isWanted
            case "*": others = isWanted
            default: break
            }
        }
        return others
    }

    /// Whether the client wants to send another request on this connection.
    var keepsAlive: Bool {
        guard let connection = headers["connection"] else { return isHTTP11 }
        let options = HeaderFields.list(connection.lowercased())
        return !options.contains("close") && (isHTTP11 || options.contains("keep-alive"))
    }
}

/// The reason why a head is rejected: the status of the answer, and a sentence.
struct RequestFault: Error, Equatable {
    let status: Int
    let reason: String

    static func malformed(_ reason: String) -> RequestFault { RequestFault(status: 400, reason: reason) }
    static func tooLarge(_ reason: String) -> RequestFault { RequestFault(status: 431, reason: reason) }
}
