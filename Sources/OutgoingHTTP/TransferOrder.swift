/// A validated call or mail, to be sent by a thread of libcurl.
struct TransferOrder: Sendable {
    enum Kind: Sendable {
        case call(OutgoingRequest)
        case mail(OutgoingMail)
    }

    let kind: Kind
    let limits: TransferLimits
    let tls: OutgoingTLS
    let destinations: Destinations
    let url: String

    init(_ request: OutgoingRequest) throws(OutgoingFailure) {
        try Self.check(request.url, ["http://", "https://"])
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(Self.isToken) else {
            throw .invalid("the method is invalid")
        }
        for (name, value) in request.headers {
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken) else { throw .invalid("a header's name is bad") }
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw .invalid("the header \(name) has a control character")
            }
        }
        self.init(.call(request), request.url, request.limits, request.tls, request.destinations)
        try check()
    }

    init(_ mail: OutgoingMail) throws(OutgoingFailure) {
        try Self.check(mail.url, ["smtp://", "smtps://"])
        guard !mail.recipients.isEmpty else { throw .invalid("the mail has no recipient") }
        for address in [mail.sender] + mail.recipients {
            guard !address.isEmpty, address.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x3C && $0 != 0x3E })
            else {
                throw .invalid("an address of the envelope is invalid")
            }
        }
        guard !mail.clientName.isEmpty, mail.clientName.utf8.allSatisfy({ Self.isToken($0) || $0 == 0x3A }) else {
            throw .invalid("the client's name is invalid")
        }
        // Servers differ on a lone CR or LF: some take it for the end of the text, and what follows for commands.
        guard Self.hasWholeLines(mail.message) else { throw .invalid("the mail has a lone CR or LF") }
        self.init(.mail(mail), mail.url + "/" + mail.clientName, mail.limits, mail.tls, mail.destinations)
        try check()
    }

    private init(
        _ kind: Kind, _ url: String, _ limits: TransferLimits, _ tls: OutgoingTLS, _ destinations: Destinations
    ) {
        self.kind = kind
        self.url = url
        self.limits = limits
        self.tls = tls
        self.destinations = destinations
    }

    private func check() throws(OutgoingFailure) {
        guard (0.001...86_400).contains(limits.total), (0.001...86_400).contains(limits.connecting),
            limits.responseBytes >= 0
        else { throw .invalid("a limit is out of its range") }
    }

    private static func check(_ url: String, _ schemes: [String]) throws(OutgoingFailure) {
        guard schemes.contains(where: url.lowercased().hasPrefix), url.utf8.count <= 8_192 else {
            throw .invalid("the URL has another scheme, or is too long")
        }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalid("the URL has a character that must be percent-encoded")
        }
    }

    /// Whether each CR is followed by an LF, and each LF follows a CR (RFC 5321, 2.3.8).
    private static func hasWholeLines(_ text: [UInt8]) -> Bool {
        var isAfterCR = false
        for byte in text {
            guard isAfterCR == (byte == 0x0A) else { return false }
            isAfterCR = byte == 0x0D
        }
        return !isAfterCR
    }

    /// Whether a character may be in a token of HTTP (RFC 9110, 5.6.2).
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
