/// The response of another server.
public struct OutgoingResponse: Sendable {
    /// The status of HTTP (redirects are not followed), or the last code of SMTP (250).
    public let status: Int
    /// The headers in the order of the response, with names in lower case. Empty for SMTP.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]
    public let isHTTP2: Bool

    /// The first header of this name, which must be in lower case.
    public subscript(header: String) -> String? { headers.first { $0.name == header }?.value }
}
