/// One request as it came, its body whole.
public struct HTTPRequest: Sendable {
    /// In capitals: `GET`, `POST`, `PUT`, `PATCH`, `DELETE`, `HEAD` or `OPTIONS`.
    public var method: String
    /// The path, percent-decoded and normalised by libwebsockets: `//`, `/./` and `/../` are resolved, encoded or not.
    public var path: String
    /// What follows the `?`, percent-decoded, its parts joined by `&`. Empty if there is none.
    public var query: String
    /// By their names in small letters; only those of `HeaderTable.names` are kept.
    public var headers: [String: String]
    public var body: [UInt8]
    /// The client's address: whoever is connected, or whom a trusted proxy names.
    public var peer: PeerAddress
    /// The path as it came, neither decoded nor normalised; `nil` when that is not known: for any but the first request
    /// of a connection, and when its line is too long.
    public var target: String?
    /// Whether it came over TLS.
    public var isSecure = false
    /// That of the listener that its connection came through.
    public var tag: UInt8 = 0

    /// The value of the query's part `name=value`, nil if there is none.
    public func queryValue(_ name: String) -> String? {
        for part in query.split(separator: "&") where part.hasPrefix(name + "=") {
            return String(part.dropFirst(name.count + 1))
        }
        return nil
    }
}
