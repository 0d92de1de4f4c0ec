/// A mail for a server. It is sent over a separate connection, which is closed without a QUIT once the server has
/// accepted the mail.
public struct OutgoingMail: Sendable {
    /// `smtp://HOST:PORT` or `smtps://HOST:PORT`.
    public var url: String
    /// Whether `smtp` must switch to TLS first; `smtps` is TLS from the start.
    public var startTLS = StartTLS.required
    public var credentials: Credentials?
    /// The client's name in its greeting (EHLO).
    public var clientName = "localhost"
    /// The envelope: addresses without angle brackets.
    public var sender: String
    public var recipients: [String]
    /// Header and body, each line ended by CR LF.
    public var message: [UInt8]
    public var limits: TransferLimits = {
        var limits = TransferLimits()
        limits.total = 60
        return limits
    }()
    public var tls = OutgoingTLS()
    public var destinations = Destinations.all

    public init(_ url: String, from sender: String, to recipients: [String], message: [UInt8]) {
        self.url = url
        self.sender = sender
        self.recipients = recipients
        self.message = message
    }

    public enum StartTLS: Sendable {
        /// A server that does not offer STARTTLS gets nothing.
        case required
        /// The whole session is plain text: for a server on this machine, and for tests.
        case never
    }

    /// A user and a password. They are used to sign in on the connection, and are not part of a URL.
    public struct Credentials: Sendable {
        public var user: String
        public var password: String

        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }
}
