/// What another server answered.
public struct OutgoingResponse: Sendable {
    /// HTTP's, redirects included, which are not followed; the last one of SMTP (250).
    public let status: Int
    /// In their order, the names in small letters. None of SMTP.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]
    public let isHTTP2: Bool

    /// The first of this name, in small letters.
    public subscript(header: String) -> String? { headers.first { $0.name == header }?.value }
}
