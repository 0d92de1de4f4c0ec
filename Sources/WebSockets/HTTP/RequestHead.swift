/// The head of an HTTP/1 request as `RequestHeadReader` has read it: its request line and its header fields.
///
/// Every decision about a request rests on this one reading.
public struct RequestHead: Sendable {
    /// A token, as it came: `GET` is a method that is known here, `get` is not.
    public let method: String
    /// The path as it came, neither decoded nor normalised, without its query. `*`, or what a CONNECT names, is none and
    /// stands here as it came.
    public let path: String
    /// What follows the `?`, as it came. Empty if there is none.
    public let query: String
    /// Whether it is HTTP/1.1, and not HTTP/1.0.
    public let isHTTP11: Bool
    public let headers: HeaderFields
    /// What the target names before its path (`http://host/path`): it stands for `Host` (RFC 9112, 3.2.2).
    let authority: String?
    /// `nil` without Content-Length.
    public let contentLength: Int?
    /// Its body comes in chunks, without a length.
    public let isChunked: Bool

    /// Which host is asked.
    public var host: String? { authority ?? headers["host"] }

    /// Whether the client asks for a WebSocket. A server may ignore an upgrade to anything else (RFC 9110, 7.8), and this
    /// one does: what asks for HTTP/2 as well is answered in HTTP/1.1.
    ///
    /// In HTTP/1.0 there are no upgrades.
    var asksForWebSocket: Bool {
        guard isHTTP11, let upgrade = headers["upgrade"] else { return false }
        if upgrade == "websocket" { return true }
        return HeaderFields.list(upgrade).contains { $0.lowercased() == "websocket" }
    }

    /// Whether the client reads answers that are compressed with gzip (RFC 9110, 12.5.3): it names it, or everything else by
    /// `*`, with no weight of zero.
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

/// Why a head is refused: the status of the answer, and a sentence.
struct RequestFault: Error, Equatable {
    let status: Int
    let reason: String

    static func malformed(_ reason: String) -> RequestFault { RequestFault(status: 400, reason: reason) }
    static func tooLarge(_ reason: String) -> RequestFault { RequestFault(status: 431, reason: reason) }
}
